"""The search for the knobs of a generator at which the policy passes at a wanted rate."""
