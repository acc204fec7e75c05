"""The ledger: every rollout that was paid for and every score of one, grow-only and keyed by content."""
