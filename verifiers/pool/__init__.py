"""Scoring in processes of their own, which may hang, die or run out of time."""
