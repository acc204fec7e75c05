"""Judges of answers, a kind a file: numbers, texts, JSON, patterns, mathematics."""
