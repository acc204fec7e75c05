"""Evaluations: held-out prompts answered anew by one policy or two, through any engine."""
