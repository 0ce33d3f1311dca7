"""pipeproof: proves pipeline-parallel training schedules legal, or shows why they are not."""

__all__ = ["__version__"]

__version__ = "0.7.0"
