"""The page of a result, in a browser."""
