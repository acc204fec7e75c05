"""Tests of the core that take poems as their example: they are left out where poems are not registered."""

from __future__ import annotations

import pytest

from learnable.verifiers import domains

HAS_POEMS = "poetry" in domains.FAMILIES
needs_poems = pytest.mark.skipif(not HAS_POEMS, reason="poems are not registered")
