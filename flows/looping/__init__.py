"""The loop: train, measure, refresh the set for the policy that came of it, and train again while that pays."""
