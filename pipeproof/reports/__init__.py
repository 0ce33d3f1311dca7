"""One way of telling a file; telling never decides."""
