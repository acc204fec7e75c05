"""What an answer is worth, whatever its writing: numbers with their units, and dates."""
