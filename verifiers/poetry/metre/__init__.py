"""How a line is stressed, and which metre it keeps."""
