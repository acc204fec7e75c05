"""The steps of a curation, in order: read, screen, sample, decide, publish, report."""
