"""Keeps pytest from importing the hostile programs: it looks for doctests in every module."""

collect_ignore_glob = ["[0-9]*.py"]
