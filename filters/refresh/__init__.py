"""What becomes of a curated set when its policy moves."""
