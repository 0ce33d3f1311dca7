"""What torch itself says: its schedule classes, without process group and without GPU."""
