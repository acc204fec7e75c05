"""How well verse is heard and judged, on public annotated corpora."""
