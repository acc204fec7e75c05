"""Curated sets as other trainers read them: which columns each takes, and the judge that its reward hook calls."""
