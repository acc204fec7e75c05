"""Curated sets: versioned Parquet shards with a manifest and a card."""
