"""A user's own judge, loaded and made into a verifier."""
