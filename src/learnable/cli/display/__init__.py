"""How results look on a terminal: tables that fit, progress, and the text of others made harmless."""
