"""Curated sets made to be looked at: one HTML file that needs no network, and a local server for a whole store."""
