"""Rollouts from vLLM replicas on a Ray cluster."""
