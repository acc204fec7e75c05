"""Prompts that repeat another prompt or an evaluation set."""
