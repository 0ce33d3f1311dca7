"""One dialect a file; reading never judges."""
