"""From a schedule as written to a schedule as run: what the author left out is written in."""
