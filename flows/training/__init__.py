"""A training: held-out reward before, the trainer, held-out reward after, figures, report."""
