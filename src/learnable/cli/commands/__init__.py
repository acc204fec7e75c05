"""One file for each command of `learnable`: its help, its flags, what it runs and what it shows."""
