"""Decisions: group statistics, and which prompts are kept and why. Pure functions over columns."""
