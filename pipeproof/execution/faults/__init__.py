"""What goes wrong on purpose, who notices it, and what must then hold."""
