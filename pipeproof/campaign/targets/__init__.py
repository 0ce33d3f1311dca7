"""What a campaign hunts in: a schedule, a generator, or pipeproof itself."""
