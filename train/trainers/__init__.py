"""TRL's trainers, each in a process of its own."""
