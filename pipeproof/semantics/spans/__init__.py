"""What is said of the trace of a real run: which operations its spans are, and what is wrong."""
