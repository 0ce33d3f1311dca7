"""Checkpoints of executions, in flight or drained: taken, verified by all ranks, taken up."""
