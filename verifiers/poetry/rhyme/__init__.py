"""Which words rhyme, how well they rhyme, and the rhyme scheme of a stanza."""
