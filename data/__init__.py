"""Nouns: records, prompt sources, forms, stores and curated sets. The bottom layer: imports nothing of ours."""
