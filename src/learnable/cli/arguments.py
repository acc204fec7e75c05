"""Flags that several commands have, in groups, and the settings that each makes."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from learnable.cli.flags import Flag, Given, flags_of_any
from learnable.cli.options import SAMPLED_BY, engine_option, schedule_option
from learnable.data.errors import LearnableError
from learnable.data.records import JsonObject
from learnable.data.settings import list_settings
from learnable.flows.settings import CurateSettings
from learnable.rollouts.registry import EngineSettings, find_engine, list_engines

if TYPE_CHECKING:
    from learnable.flows.scheduling.timetable import Timetable


DEFAULTS = CurateSettings()


def name_engines() -> str:
    """Return the help of `--engine`."""
    *titles, last = (kind.title for kind in list_engines().values())
    return f"What samples the policy: {', '.join(titles)} or {last}."


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineArguments:
    """What samples the policy."""

    engine: Annotated[str, engine_option(help=name_engines())] = "vllm"
    given: Annotated[Given, flags_of_any(list_engines().values(), SAMPLED_BY)]

    def settings(self) -> EngineSettings:
        """Return the settings. Raises `LearnableError` for what cannot work, also where the engine does not use it."""
        kind, values = find_engine(self.engine), self.given.read()
        own = list_settings(kind)
        for name, declared in self.given.flags.settings.items():
            flag, value = declared.flags[0], values[name]
            if name not in own and value not in (None, (), declared.default):
                users = " or ".join(user for user, other in list_engines().items() if name in list_settings(other))
                raise LearnableError(f"{flag} is for --engine {users}, not {self.engine}")
            if name in own and value is None and declared.default is MISSING:
                raise LearnableError(f"--engine {self.engine} needs {flag}: {declared.setting.help}")
        return kind(**{name: values[name] for name in own})


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleArguments:
    """When it runs, if not now and once."""

    cron: Annotated[
        str | None,
        schedule_option(help="Run at these times (UTC) until stopped: minute hour day month weekday, as '0 3 * * *'."),
    ] = None
    every: Annotated[float | None, schedule_option(help="Run every so many seconds until stopped.")] = None
    work_pool: Annotated[
        str | None,
        schedule_option(
            help="Deploy it to this work pool of your Prefect server, whose workers run it; made where it is missing."
        ),
    ] = None
    on_published: Annotated[
        bool, schedule_option("--on-published", help="With --work-pool: run when its set has a new version.")
    ] = False

    def timetable(self, *, prefect: bool) -> Timetable | None:
        """Return when to run, None for now and once. Raises `LearnableError` for what cannot work."""
        given = (self.cron, self.every, self.work_pool)
        if not self.on_published and given == (None,) * len(given):
            return None
        if not prefect:
            raise LearnableError("--no-prefect runs at once: leave it out to run on a schedule, which is Prefect's")
        from learnable.flows.scheduling.timetable import Timetable

        return Timetable(self.cron, self.every, self.work_pool, self.on_published)


def name_verifier(verifier: str, reward_range: str | None, passes_at: float | None) -> str:
    """Return a verifier's name with what flags say of a user's own. Raises `LearnableError` for what cannot judge."""
    from learnable.verifiers.own.naming import state_range
    from learnable.verifiers.registry import trust_verifier

    name = state_range(verifier, reward_range, passes_at)
    trust_verifier(name)
    return name


def count_workers(given: int | None) -> int:
    """Return how many processes score: one for four cores unless told otherwise. Raises `LearnableError`."""
    if given is not None and given < 0:
        raise LearnableError(f"--workers {given} is no number of processes: give 1 or more, or 0 to score in this one")
    return max(1, (os.cpu_count() or 1) // 4) if given is None else given


def read_counts(items: Sequence[str] | None, flag: str) -> list[int]:
    """Return the whole numbers of a flag that is given several times, or with commas. Raises `LearnableError`.

    >>> read_counts(["1", "4,16"], "--k")
    [1, 4, 16]
    """
    texts = [text.strip() for item in items or () for text in item.split(",")]
    if wrong := [text for text in texts if not (text.isascii() and text.isdigit())]:
        raise LearnableError(f"{flag} {wrong[0]} is no whole number: give some as in {flag} 4, or {flag} 1,4,16")
    return [int(text) for text in texts]


WORKERS = Flag(default=None, read=count_workers)


def read_text_or_file(given: str, flag: str) -> str:
    """Return the text, or what is in FILE where it is `@FILE`. Raises `LearnableError` where that cannot be read."""
    if not given.startswith("@"):
        return given
    try:
        text = Path(given[1:]).read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        raise LearnableError(f"{flag} {given}: the file cannot be read: {error}") from error
    if not text:
        raise LearnableError(f"{flag} {given}: the file is empty")
    return text


def read_object(given: str, flag: str) -> JsonObject:
    """Return a JSON object, or the one in FILE where it is `@FILE`. Raises `LearnableError` for what is none."""
    text = read_text_or_file(given, flag)
    shown = given if given.startswith("@") else repr(given)
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise LearnableError(f"{flag} {shown} is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise LearnableError(f'{flag} {shown} is not a JSON object: give {{"name": value}}, or leave it out')
    return value
