"""What is fast, measured beside what users would otherwise run. `make bench` runs all of it."""
