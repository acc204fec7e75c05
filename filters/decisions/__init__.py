"""What is kept and why, and what a person should hear of it."""
