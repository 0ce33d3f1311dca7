"""What a schedule computes, in every interleaving; it shares nothing with the package."""
