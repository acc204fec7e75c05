"""Language: whether lines read as sentences of verse, by the order of their words."""
