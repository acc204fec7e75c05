"""Rollouts from an engine, scores from verifiers, both kept as they come."""
