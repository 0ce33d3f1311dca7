"""Traces of real runs, one dialect a file; reading never judges."""
