"""How good the decisions are, and what they cost."""
