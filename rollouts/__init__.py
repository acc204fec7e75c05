"""Engines: each turns prompts into groups of completions by one policy."""
