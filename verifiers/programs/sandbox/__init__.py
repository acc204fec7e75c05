"""Where programs that nobody trusts run."""
