"""Prompts from reasoning-gym's data sets: how they are named and set, and the process that makes them."""
