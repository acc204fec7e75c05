"""Formulas as people and models write them: one writing, their parts, and when two of them say the same."""
