"""Files of completions: read, checked and scored."""
