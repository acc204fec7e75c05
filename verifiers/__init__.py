"""Judges: each looks at one completion and says what it is worth. Pure Python, no frames, no tensors."""
