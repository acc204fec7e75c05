"""Prompts that users bring: tables in files, folders and on the hub, row by row."""
