"""Settings of every test: Hypothesis without deadlines, since machines differ, and Ctrl-C that works."""

from __future__ import annotations

import signal

from hypothesis import settings

settings.register_profile("learnable", deadline=None, max_examples=60, print_blob=True)
settings.load_profile("learnable")

# A shell starts background jobs with Ctrl-C ignored, and the processes that tests start would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
