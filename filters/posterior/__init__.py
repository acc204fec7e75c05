"""What is known of a prompt after its rollouts: priors, posteriors and certificates."""
