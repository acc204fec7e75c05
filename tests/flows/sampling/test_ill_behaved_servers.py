"""Runs on servers that answer what nobody should: what was paid for is stored with its scores, nothing is a zero."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from learnable.data.curated.curated_set import open_curated
from learnable.data.errors import LearnableError, NothingAnsweredError
from learnable.data.store import Store
from learnable.flows.curation.pipeline import run_curation
from learnable.flows.sampling import chunk_writer
from learnable.flows.settings import CurateSettings
from learnable.rollouts.settings import ServerSettings
from tests.flows.questions_for_tests import ask
from tests.rollouts.server.scripted_server_for_tests import GOOD, Json, Reply, ScriptedServer, answer

TEXTS = [f"question {number}" for number in range(6)]


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CurateSettings:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return replace(ask(tmp_path, TEXTS, str(tmp_path / "store")), group_size=2)


def asking(server: ScriptedServer, settings: CurateSettings) -> CurateSettings:
    return replace(settings, engine=ServerSettings((server.url,), patience=60.0, concurrency=2))


def rows(settings: CurateSettings, table: str) -> pl.DataFrame:
    files = sorted(Path(settings.store).glob(f"{table}/**/*.parquet"))
    return pl.concat([pl.read_parquet(path, hive_partitioning=False) for path in files]) if files else pl.DataFrame()


def saying(**changed: Any) -> Callable[[Json], Reply]:
    """Return a server's answers with these keys of every choice changed."""

    def reply(body: Json) -> Reply:
        said = answer(body)
        return Reply(body=said | {"choices": [choice | changed for choice in said["choices"]]})

    return reply


def text_of(body: Json) -> str:
    return str(body["prompt"] if "prompt" in body else body["messages"][-1]["content"])


@pytest.mark.parametrize("text", ["\ud800 yes", "yes \udfff", "\ud83d\ude00 yes"])
def test_half_a_character_is_stored_with_its_score(settings: CurateSettings, text: str) -> None:
    with ScriptedServer(always=saying(text=text)) as server:
        report = run_curation(asking(server, settings))
    stored, scores = rows(settings, "rollouts"), rows(settings, "scores")
    assert report.totals.rollouts == stored.height == scores.height == 12
    assert set(stored["rollout_id"]) == set(scores["rollout_id"])
    assert set(stored["completion"]) == {text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")}
    with ScriptedServer() as server:
        assert run_curation(asking(server, settings)).totals.generated == 0


def test_a_refusal_in_half_characters_is_one(settings: CurateSettings) -> None:
    def reply(body: Json) -> Reply:
        return Reply(400, {"error": {"message": "no \ud800"}}) if text_of(body) == TEXTS[0] else GOOD

    with ScriptedServer(always=reply) as server:
        report = run_curation(asking(server, settings))
    assert report.totals.decisions["not_scored"] == 1
    assert report.totals.rollouts == 10


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (saying(finish_reason="abort"), "12 x the server ended a completion with 'abort'"),
        (saying(finish_reason=None), "ended a completion with 'None'"),
        (saying(text=None), "12 x the server gave no text for a completion"),
        (lambda body: Reply(400, {"error": {"message": "not today"}}), "12 x status 400: not today"),
    ],
)
def test_where_nothing_is_answered_nothing_is_published(
    settings: CurateSettings, reply: Callable[[Json], Reply], why: str
) -> None:
    with ScriptedServer(always=reply) as server, pytest.raises(NothingAnsweredError) as stopped:
        run_curation(asking(server, settings))
    assert why in str(stopped.value)
    assert rows(settings, "scores").is_empty()
    assert not Store(settings.store).curated.exists()


def test_no_text_is_no_zero(settings: CurateSettings) -> None:
    def reply(body: Json) -> Reply:
        return saying(text=None)(body) if text_of(body) == TEXTS[0] else GOOD

    with ScriptedServer(always=reply) as server:
        report = run_curation(asking(server, settings))
    [unscored] = [
        row for row in open_curated(report.curated).read("rejects").to_pylist() if row["decision"] == "not_scored"
    ]
    assert (unscored["prompt"], unscored["mean"], unscored["n_engine_error"]) == (TEXTS[0], None, 2)
    assert rows(settings, "scores").height == 10


def test_another_model_half_way_stops_the_run_and_keeps_what_came_before(settings: CurateSettings) -> None:
    def another(body: Json) -> Reply:
        return Reply(body=answer(body) | {"model": "another"})

    with ScriptedServer([GOOD, GOOD], always=another) as server:
        one_by_one = replace(settings, engine=ServerSettings((server.url,), concurrency=1))
        with pytest.raises(LearnableError, match="answers as 'another'"):
            run_curation(one_by_one)
    assert rows(settings, "rollouts").height == 4
    assert not Store(settings.store).curated.exists()


@pytest.mark.parametrize("rest", [Reply(hangs=True), Reply(500, "oops")])
def test_what_a_server_answered_is_on_disk_while_it_owes_the_rest(
    settings: CurateSettings, monkeypatch: pytest.MonkeyPatch, rest: Reply
) -> None:
    """Whoever kills the run now loses nothing that was paid for."""
    monkeypatch.setattr(chunk_writer, "CHUNK_SECONDS", 0.01)
    answered = [GOOD, GOOD, GOOD]
    with (
        ScriptedServer(answered, always=lambda body: rest) as server,
        ThreadPoolExecutor(1) as thread,
    ):
        run = thread.submit(run_curation, asking(server, settings))
        deadline = time.monotonic() + 60
        while (stored := rows(settings, "rollouts").height) < 6 and time.monotonic() < deadline and not run.done():
            time.sleep(0.01)
        is_waiting = not run.done()
        server.always = lambda body: GOOD
        server.release.set()
        report = run.result(60)
    assert stored == 6
    assert is_waiting
    assert report.totals.rollouts == 12
