"""Ranks as streams: what a schedule does to memory when only events keep its order."""
