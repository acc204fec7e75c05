"""Where the prompts of a set came from, and under which licence, as far as their sources say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from learnable.data.progress import progress
from learnable.data.publication.privacy import public_name
from learnable.data.sources.files.locations import local_path, looks_local, path_exists

GENERATED = "apache-2.0"  # prompts of our own generators, as of reasoning-gym's
GYM = "reasoning-gym:"
HUB_SECONDS = 20.0  # for one answer


@dataclass(frozen=True, slots=True)
class PromptSource:
    """Where `prompts` of a set came from: a file's name, a hub id, or a generator; `license` is "" where none is known.

    `license` is an id as the hub has them, such as cc-by-4.0.
    """

    name: str
    prompts: int
    license: str


def describe_sources(prompts: Mapping[tuple[str, str], int]) -> tuple[PromptSource, ...]:
    """Return the sources of so many prompts by their location ("" for none) and family, those of most prompts first."""
    totals: dict[str, tuple[int, str]] = {}
    for (location, family), count in sorted(prompts.items()):
        name = public_name(location) if location else f"the generator {family}"
        known = totals[name] if name in totals else (0, _find_license(location))
        totals[name] = (known[0] + count, known[1])
    found = [PromptSource(name, count, known) for name, (count, known) in totals.items()]
    return tuple(sorted(found, key=lambda source: (-source.prompts, source.name)))


def choose_licenses(sources: Iterable[PromptSource]) -> tuple[str, ...]:
    """Return the licences of a set: those of its sources where all are known, else none."""
    known = [source.license for source in sources]
    return tuple(dict.fromkeys(known)) if all(known) else ()


def _find_license(location: str) -> str:
    if not location or location.startswith(GYM):
        return GENERATED
    folder = local_path(location)
    if path_exists(folder):
        return _read_card(folder / "README.md") if folder.is_dir() else ""
    return "" if looks_local(location) or "/" not in location else _ask_hub(location.partition(":")[0])


def _read_card(card: Path) -> str:
    from huggingface_hub.repocard import metadata_load

    try:
        return _as_id((metadata_load(card) or {}).get("license")) if card.is_file() else ""
    except (OSError, ValueError) as error:
        progress().note(f"card {str(card)!r} cannot be read, so it names no licence: {error}")
        return ""


def _ask_hub(name: str) -> str:
    from huggingface_hub import HfApi, constants

    if constants.HF_HUB_OFFLINE:
        return ""
    try:
        card = HfApi().dataset_info(name, timeout=HUB_SECONDS).card_data
    except Exception as error:  # the hub's own kinds, and those of the transport that its client happens to use
        progress().note(f"the hub did not say the licence of {name}: {type(error).__name__}")
        return ""
    return _as_id(card.get("license") if card else None)


def _as_id(told: object) -> str:
    first = told[0] if isinstance(told, list) and told else told
    return first if isinstance(first, str) and first.replace("-", "").replace(".", "").isalnum() else ""
