"""Families of generated prompts by name: drawing from them, turning their knobs, asking in other words."""
