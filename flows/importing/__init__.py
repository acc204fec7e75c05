"""Rollouts that others made become a ledger and a curated set: a curation that draws nothing."""
