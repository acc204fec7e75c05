"""Settings of every test: Hypothesis without deadlines, since machines differ."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("learnable", deadline=None, max_examples=60, print_blob=True)
settings.load_profile("learnable")
