"""Evidence: one folder that says what was checked, of what, by what, and lets others look again."""
