"""Verdicts, the executions that show them, and replay, which accepts or rejects those."""
