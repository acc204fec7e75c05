"""Is this training run going to work? Asked before anything heavy starts."""
