"""Campaigns: many tasks that look for schedules which break what they should keep."""
