"""What a schedule means: events, relations, assumptions, and the rules."""
