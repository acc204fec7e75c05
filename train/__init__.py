"""Training: rewards, GRPO and evaluation on curated sets, and the bundled policy's own training."""
