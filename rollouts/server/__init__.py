"""Rollouts from servers with the OpenAI interface."""
