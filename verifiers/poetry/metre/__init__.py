"""Which syllables of a line are stressed, and how well the line keeps a metre."""
