"""What holds of families of schedules, and how much buffering is enough."""
