"""Rewards as data: named parts of a completion, weighed and added up."""
