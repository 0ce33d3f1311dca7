"""Schedules on real ranks: processes that exchange tensors over gloo."""
