"""The command line: what is typed, what is shown, and nothing that decides."""
