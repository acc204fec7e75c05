"""The built-in families of generated prompts."""
