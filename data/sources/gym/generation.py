"""What the process that makes entries does: configure data sets, and write their entries as lines of JSON, by turns.

It is a process of its own since some data sets go through sets of strings, whose order Python's hash seed decides: only
there can that be fixed, so that a seed gives the same questions again. It also keeps the libraries that they need out
of the caller's process. The caller reads as many lines as it wants, and ends the process.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from types import FrameType
from typing import Any, NoReturn

from learnable.data.errors import LearnableError
from learnable.data.records import JsonObject
from learnable.data.sources.chance import hash_to_uniform
from learnable.data.sources.family import take_turns
from learnable.data.sources.gym.configuring import (
    ENTRIES_PER_SEED,
    config_changes,
    data_set_names,
    make_config,
    place_on_levels,
)
from learnable.data.sources.gym.library import NAME, load_library


def serve(pattern: str, knobs: dict[str, str], seed: int) -> None:
    """Write what was left out, then entries until the caller has enough; or else an `error`, which ends it."""
    lines = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # data sets may print
    signal.signal(signal.SIGALRM, _give_up)
    try:
        streams, left_out = open_streams(pattern, knobs, seed)
        print(json.dumps({"left_out": left_out}), file=lines, flush=True)
        for entry in take_turns(streams):
            print(json.dumps(entry, default=_plain), file=lines, flush=True)
    except LearnableError as error:
        print(json.dumps({"error": str(error)}), file=lines, flush=True)


def open_streams(pattern: str, knobs: dict[str, str], seed: int) -> tuple[list[Iterator[JsonObject]], dict[str, str]]:
    """Return the entries of each data set, in an order that the seed draws, and which were left out, with the reason.

    Of a pattern, data sets that refuse the knobs are left out. Raises `LearnableError` where all of them do.
    """
    names = data_set_names(pattern)
    streams, left_out = [], {}
    for name in sorted(names, key=lambda name: hash_to_uniform(seed, "turns", NAME, name)):
        try:
            streams.append(entries(name, make_config(name, knobs), seed))
        except LearnableError as error:
            if len(names) == 1:
                raise
            left_out[name] = str(error)
    if not streams:
        raise LearnableError(f"no data set of {NAME}:{pattern} takes these knobs: {next(iter(left_out.values()))}")
    return streams, left_out


def entries(name: str, config: Any, seed: int) -> Iterator[JsonObject]:
    """Yield distinct entries of a data set until it repeats itself, with its configuration and their difficulty.

    Data sets add an entry's number to their seed: so that two seeds of ours share no entries, theirs are far apart.
    Raises `LearnableError` where it makes none.
    """
    changes = config_changes(name, config)
    first = int(hash_to_uniform(seed, NAME, name) * 2**31)
    questions: set[str] = set()
    stale = failed = 0
    for chunk in count():
        data_set = load_library().DATASETS[name][0](config=replace(config, seed=first + chunk * ENTRIES_PER_SEED))
        for index in range(ENTRIES_PER_SEED):
            entry, why = _make_entry(name, data_set, index)
            failed = 0 if entry else failed + 1
            if failed == 20:
                raise LearnableError(f"{NAME}:{name} makes no entries with these knobs: {why}")
            stale = stale + 1 if entry is None or entry["question"] in questions else 0
            # After 200 entries in a row that were there before the data set has hardly more.
            if stale == 200:
                return
            if entry is not None and not stale:
                questions.add(entry["question"])
                content = {key: entry[key] for key in ("question", "answer", "metadata")}
                difficulty = place_on_levels(name, entry["metadata"])
                yield {"dataset": name, **content, "config": changes, "difficulty": difficulty}


def _make_entry(name: str, data_set: Any, index: int) -> tuple[JsonObject | None, str]:
    """Return an entry, or None and what its data set raised: some fail now and then."""
    seconds = 120  # for one entry; the slowest of the usual ones takes about one
    signal.alarm(seconds)
    try:
        return data_set[index], ""
    except _LateError:
        raise LearnableError(f"{NAME}:{name} had no entry after {seconds} s: give knobs that are easier") from None
    except Exception as error:
        return None, f"{type(error).__name__}: {error}"
    finally:
        signal.alarm(0)


class _LateError(BaseException):
    """An entry takes too long. No `Exception`, which a data set might catch."""


def _give_up(number: int, frame: FrameType | None) -> NoReturn:
    raise _LateError


def _plain(value: Any) -> Any:
    """Return what JSON can hold: numpy's numbers as Python's, sets in order, anything else as text."""
    if hasattr(value, "item"):
        return value.item()
    return sorted(value) if isinstance(value, set | frozenset) else str(value)


if __name__ == "__main__":
    serve(*json.loads(sys.argv[1]))
