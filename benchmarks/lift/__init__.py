"""What does curation buy? Arms that train on one pool, at equal generated tokens."""
