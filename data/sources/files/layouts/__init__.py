"""The layouts of well-known data sets, as a table, and which of them a user's rows have."""
