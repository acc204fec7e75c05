"""Short answers: how one is read from a completion, and judges of numbers, choices and counts."""
