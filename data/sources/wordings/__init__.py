"""Other words for the questions of the built-in families: ours for instruct models, and a user's own."""
