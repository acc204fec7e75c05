"""Where prompts come from: built-in generators here, files and hub datasets beside them."""
