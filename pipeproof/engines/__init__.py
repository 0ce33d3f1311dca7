"""Engines that interpret the rules; strangers to each other."""
