"""Training on what a curation has paid for: stored rollouts in groups, before anything is generated."""
