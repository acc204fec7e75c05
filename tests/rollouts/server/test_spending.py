from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learnable.data.errors import LearnableError, SpentBudgetError
from learnable.flows.curation.pipeline import run_curation
from learnable.rollouts.protocol import Answer, EngineError
from learnable.rollouts.server import spending
from learnable.rollouts.server.engine import ServerEngine
from learnable.rollouts.server.spending import Allowance, Spending
from learnable.rollouts.settings import ServerSettings
from tests.flows.questions_for_tests import ask
from tests.rollouts.conftest import Clock
from tests.rollouts.server.scripted_server_for_tests import (
    SAMPLING,
    Json,
    Reply,
    ScriptedServer,
    answer,
    assert_whole,
    engine_on,
    requests,
    rollouts_of,
)

A_GROUP = 10 + 2 * 3  # tokens that the server counts
AT_MOST = 1 + spending.TEMPLATE_TOKENS + 2 * SAMPLING.max_tokens  # that a group may take


@pytest.fixture(autouse=True)
def accounts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spending, "_accounts", {})


def counting(body: Json) -> Reply:
    said = answer(body)
    return Reply(body=said | {"usage": {"prompt_tokens": 10, "completion_tokens": 3 * body["n"]}})


def roll_out_until_spent(engine: ServerEngine, requested: Any) -> list[Answer]:
    got: list[Answer] = []
    with pytest.raises(SpentBudgetError, match=r"the budget is spent .* the same command goes on"):
        got.extend(engine.generate(requested, SAMPLING))
    return got


@pytest.mark.parametrize(
    "allowance",
    [
        Allowance(max_tokens=800),
        Allowance(max_cost=8.0, prompt_price=10_000, completion_price=10_000),
        Allowance(max_tokens=10**9, max_cost=0.8, prompt_price=1000, completion_price=1000),
    ],
)
def test_a_budget_ends_with_whole_groups_and_is_never_exceeded(allowance: Allowance) -> None:
    requested = requests(200)
    with ScriptedServer(always=counting) as server:
        engine = engine_on(server, concurrency=4, allowance=allowance)
        got = roll_out_until_spent(engine, iter(requested))
        spent = len(server.posts) * A_GROUP
        assert 800 - AT_MOST - A_GROUP < spent <= 800  # no more, and as much as is sure not to be too much
        assert len(got) == len(server.posts)  # nothing was paid for and dropped
        done = {rollouts_of(group)[0].seed for group in got}
        rest = [request for request in requested if request.base_seed not in done]
        got += roll_out_until_spent(engine, iter(rest))  # the same command: as much again
    assert_whole(got, [request for request in requested if request.base_seed in {rollouts_of(g)[0].seed for g in got}])
    assert len(got) > len(done)


def test_a_group_that_was_begun_is_paid_to_its_end() -> None:
    def one_for_many(body: Json) -> Reply:
        said = answer(body, choices=1)
        return Reply(body=said | {"usage": {"prompt_tokens": 30, "completion_tokens": 5}})

    with ScriptedServer(always=one_for_many) as server:
        engine = engine_on(server, concurrency=8, allowance=Allowance(max_tokens=2500))
        got = roll_out_until_spent(engine, requests(40, group_size=4))
    assert got
    assert len(server.posts) == 4 * len(got)


def test_a_budget_that_pays_for_no_group_says_so() -> None:
    with ScriptedServer(always=counting) as server:
        engine = engine_on(server, allowance=Allowance(max_tokens=AT_MOST - 1))
        with pytest.raises(SpentBudgetError, match="not one group is sure to cost less, so give more"):
            list(engine.generate(requests(3), SAMPLING))
        assert not server.posts


def test_an_engine_that_is_started_anew_goes_on_with_what_is_left(clock: Clock) -> None:
    allowance = Allowance(max_tokens=800)
    with ScriptedServer([counting({"n": 2, "seed": 0})] * 20, always=lambda body: Reply(500, "oops")) as server:
        with pytest.raises(EngineError):
            list(engine_on(server, allowance=allowance).generate(requests(30), SAMPLING))
        server.always, failed = counting, len(server.posts)
        roll_out_until_spent(engine_on(server, allowance=allowance), requests(200))
        assert (20 + len(server.posts) - failed) * A_GROUP <= 800


def test_a_refused_group_costs_nothing() -> None:
    refusing = [Reply(400, "no")] * 30
    with ScriptedServer(refusing, always=counting) as server:
        engine = engine_on(server, concurrency=1, allowance=Allowance(max_tokens=AT_MOST + A_GROUP))
        answers = list(engine.generate(requests(31), SAMPLING))
    assert len(answers) == 31


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(1, 8), st.booleans()), min_size=1), st.integers(0, 4000))
def test_what_is_spent_and_reserved_never_exceeds_the_budget(
    groups: list[tuple[int, int, bool]], max_tokens: int
) -> None:
    account, spent = Spending(Allowance(max_tokens=max_tokens)), 0
    for tokens, size, is_answered in groups:
        [request] = requests(1, group_size=size)
        reserve = account.reserve(request, 40, 1)
        if reserve is not None and is_answered:
            account.spend(reserve, size, 100, tokens * size)
            spent += 100 + tokens * size
        assert account.prompt_tokens + account.completion_tokens == spent <= max_tokens


def test_a_run_stops_where_its_budget_ends_and_the_same_command_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    settings = ask(tmp_path, [f"question {number}" for number in range(40)], str(tmp_path / "store"))
    with ScriptedServer(always=counting) as server:
        engine = ServerSettings((server.url,), max_tokens_spent=700, concurrency=2)
        settings, runs = replace(settings, engine=engine, group_size=2), 0
        settings = replace(settings, sampling=replace(settings.sampling, max_tokens=8))
        while True:
            runs += 1
            with suppress(SpentBudgetError):
                report = run_curation(settings)
                break
        assert runs > 1
        assert len(server.posts) == 40  # nothing is paid for twice
        assert report.totals.rollouts == 80


def test_money_without_prices_is_an_error() -> None:
    with pytest.raises(LearnableError, match="`max_cost` 5 needs prices: give `prompt_price`"):
        ServerSettings(("http://127.0.0.1:1/v1",), max_cost=5)
