"""Training runs that differ in a few settings: which ones, how far each is, and what they came to side by side."""
