"""A schedule as written: operations in a table, placement, transports, canonical JSON."""
