"""What the pipeline costs beside an engine."""
