"""The live sampler: which prompts a training run draws next, as its own rewards tell."""
