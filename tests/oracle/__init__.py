"""An operational reading of message passing that shares nothing with the package."""
