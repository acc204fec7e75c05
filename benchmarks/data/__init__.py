"""How fast groups are reduced and the ledger is read and written."""
