"""Flows on a schedule: the server, what is served, and what surrounds a run."""
