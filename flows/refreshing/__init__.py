"""The steps of a refresh: take a set up again, ask anew where it matters, publish the next version."""
