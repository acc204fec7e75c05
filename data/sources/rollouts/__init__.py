"""Rollouts that others made: files of completions and rewards, and tables of pass counts."""
