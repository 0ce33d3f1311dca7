"""Schedules and certificates, made by hand, for the second checker."""
