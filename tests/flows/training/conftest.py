"""The policies and sets of the tests of trainers."""

from __future__ import annotations

from tests.train.conftest import _warm_stages, make_curated, prompts_of_ones, tiny_policy

__all__ = ["_warm_stages", "make_curated", "prompts_of_ones", "tiny_policy"]
