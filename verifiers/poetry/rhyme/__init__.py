"""Which words rhyme, how well, and in which scheme."""
