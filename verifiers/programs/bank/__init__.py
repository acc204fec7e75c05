"""The bank of programming problems: rows of JSON, a loader, and the family `code`."""
