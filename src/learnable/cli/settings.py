"""Turns what was typed on the command line into settings."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from learnable.data.errors import LearnableError
from learnable.data.records import Sampling
from learnable.filters.decisions.presets import find_preset
from learnable.filters.duplicates.near_duplicates import NEAR
from learnable.filters.stopping.budget import SamplingBudget
from learnable.flows.settings import CurateSettings, EngineSettings, PromptSettings
from learnable.verifiers.registry import find_verifier

if TYPE_CHECKING:
    from learnable.flows.scheduling.serving import Timetable

BUDGET_FLAGS = ("sampling", "max_group", "pilot_prompts", "pilot_rollouts", "precision", "want", "top_up", "retest")
LOCATION = ("prompt_column", "answer_column", "verifier", "dataset_split", "skip_bad_rows", "limit")
PRESET = ("band", "min_std", "by", "top", "quota", "floor")


def curate_settings(asked: Mapping[str, Any]) -> CurateSettings:
    """Return the settings of a curation. Raises `LearnableError` for what cannot work."""
    if asked["verifier"]:
        find_verifier(asked["verifier"])
    wanted = PromptSettings(
        forms=tuple(asked["form"] or ()),
        families=tuple(asked["family"] or ()),
        forms_file=asked["forms_file"],
        location=asked["prompts"],
        knobs=_pairs(asked["knob"], "--knob"),
        decontaminate=tuple(asked["decontaminate"] or ()),
        near_duplicates=_near_duplicates(asked),
        **{key: asked[key] for key in LOCATION},
    )
    return CurateSettings(
        prompts=wanted,
        engine=engine_settings(asked),
        preset=find_preset(asked["preset"]).override(**{key: asked[key] for key in PRESET}),
        sampling=Sampling(temperature=asked["temperature"], top_p=asked["top_p"], max_tokens=asked["max_tokens"]),
        workers=worker_count(asked["workers"]),
        budget=SamplingBudget(**{key: asked[key] for key in BUDGET_FLAGS}),
        **{
            key: asked[key]
            for key in (
                "policy",
                "group_size",
                "truncated",
                "test_share",
                "seed",
                "store",
                "name",
                "verifier_timeout",
                "wait",
            )
        },
    )


def _near_duplicates(asked: Mapping[str, Any]) -> float | None:
    """Return from which overlap on prompts are duplicates: of a file, where nothing is said; exact ones elsewhere."""
    near = asked["near_duplicates"]
    if near is not None and not 0 < near <= 1:
        raise LearnableError(f"--near-duplicates {near:g} is out of range: give an overlap, more than 0 and at most 1")
    return near if near is not None or not asked["prompts"] else NEAR


def engine_settings(asked: Mapping[str, Any]) -> EngineSettings:
    """Return the settings of what samples. Raises `LearnableError` for what cannot work."""
    keys = ("served_model", "api_key_env", "concurrency", "request_timeout", "ray_address", "replicas")
    return EngineSettings(
        name=asked["engine"],
        options={key: _literal(value) for key, value in _pairs(asked["engine_arg"], "--engine-arg").items()},
        base_urls=tuple(asked["base_url"] or ()),
        patience=asked["engine_patience"],
        **{key: asked[key] for key in keys},
    )


def timetable(cron: str | None, every: float | None, *, prefect: bool) -> Timetable | None:
    """Return when to run, None for now and once. Raises `LearnableError` for what cannot work."""
    if cron is None and every is None:
        return None
    if not prefect:
        raise LearnableError("--no-prefect runs at once: leave it out to run on a schedule, which is Prefect's")
    from learnable.flows.scheduling.serving import Timetable

    return Timetable(cron, every)


def worker_count(asked: int | None) -> int:
    """Return how many processes score: one for four cores unless told otherwise. Raises `LearnableError`."""
    if asked is not None and asked < 0:
        raise LearnableError(f"--workers {asked} is no number of processes: give 1 or more, or 0 to score in this one")
    return max(1, (os.cpu_count() or 1) // 4) if asked is None else asked


def _pairs(items: Sequence[str] | None, flag: str) -> dict[str, str]:
    pairs = {}
    for item in items or ():
        name, separator, value = item.partition("=")
        if not (name and separator):
            raise LearnableError(f"{flag} {item!r} is not NAME=VALUE")
        pairs[name] = value
    return pairs


def _literal(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text
