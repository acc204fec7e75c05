"""Find the prompts a language model can learn from."""

__version__ = "0.1.0"
