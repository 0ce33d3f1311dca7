"""Schedules in torch's own pipeline runtime, on real gloo processes."""
