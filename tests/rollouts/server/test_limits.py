"""How a limit follows a server: a simulated one, whose answers take longer the more of them are under way."""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learnable.rollouts.server.limits import FIRST, ConcurrencyLimit


@dataclass
class SimulatedServer:
    """Computes `slots` requests at a time, so many more wait; `fails` says how a request ends, by requests under way.

    A request of so many tokens takes as many seconds, and longer by the share by which all slots are taken.
    """

    slots: int
    fails: Callable[[int, random.Random], str] = lambda under_way, draw: ""
    limit: ConcurrencyLimit = field(default_factory=lambda: ConcurrencyLimit(4096))
    now: float = 0.0
    answered: int = 0
    failed: int = 0
    values: list[int] = field(default_factory=list)

    def run(self, requests: int, seed: int = 0) -> SimulatedServer:
        """Send requests, always as many as the limit allows."""
        draw, ends, first = random.Random(seed), list[tuple[float, int, float, int, str]](), self.answered
        number = 0
        while self.answered < first + requests:
            while len(ends) < self.limit.value:
                number += 1
                tokens = max(1, round(draw.lognormvariate(3, 0.7)))
                how = self.fails(len(ends) + 1, draw)
                seconds = tokens * max(1.0, (len(ends) + 1) / self.slots) if not how else 0.1
                heapq.heappush(ends, (self.now + seconds, number, self.now, tokens, how))
                self.limit.note_sent(len(ends))
            self.now, _, sent_at, tokens, how = heapq.heappop(ends)
            if how:
                self.failed += 1
                self.limit.note_failure(sent_at, self.now, is_refusal=how == "refused")
            else:
                self.answered += 1
                self.limit.note_answer(sent_at, self.now, tokens)
            self.values.append(self.limit.value)
        return self


@pytest.mark.parametrize("slots", [48, 250, 1500])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_limit_finds_how_many_a_server_computes_at_once(slots: int, seed: int) -> None:
    server = SimulatedServer(slots).run(40 * slots, seed)
    later = server.values[len(server.values) // 2 :]
    assert 0.8 * slots <= sum(later) / len(later) <= 2.2 * slots  # no slot idle, and no longer a queue than that


def test_a_limit_follows_a_server_that_gets_more_slots() -> None:
    server = SimulatedServer(64).run(4000)
    server.slots = 640
    server.run(40_000)
    assert server.limit.value >= 400


@pytest.mark.parametrize("room", [5, 100, 700])
def test_a_server_that_refuses_gets_hardly_more_than_it_takes(room: int) -> None:
    server = SimulatedServer(4096, lambda under_way, _: "refused" if under_way > room else "").run(60 * room)
    later = server.values[len(server.values) // 2 :]
    assert 0.7 * room <= sum(later) / len(later) <= 1.1 * room
    assert server.failed < 0.2 * server.answered + FIRST


@pytest.mark.parametrize(("share", "is_kept"), [(0.01, True), (0.05, True), (0.3, False)])
def test_broken_connections_halve_a_limit_where_they_are_many(share: float, is_kept: bool) -> None:
    server = SimulatedServer(1000, lambda _, draw: "broken" if draw.random() < share else "").run(20_000)
    later = server.values[len(server.values) // 2 :]
    assert (sum(later) / len(later) >= 500) is is_kept
    assert is_kept or max(later) < 10


def test_what_was_sent_together_is_refused_once() -> None:
    limit = ConcurrencyLimit(4096)
    for late in range(FIRST):
        limit.note_failure(1.0, 2.0 + late, is_refusal=True)
    assert limit.value == FIRST // 2


def test_a_limit_that_is_not_reached_does_not_grow() -> None:
    limit = ConcurrencyLimit(4096)
    for moment in range(1000):
        limit.note_sent(FIRST - 1)
        limit.note_answer(float(moment), moment + 1.0, tokens=5)
    assert limit.value == FIRST


@settings(max_examples=50, deadline=None)
@given(
    st.integers(1, 200),
    st.lists(st.tuples(st.sampled_from(["answer", "refused", "broken"]), st.floats(0, 9), st.integers(0, 50))),
)
def test_a_limit_stays_between_one_and_the_most(most: int, events: list[tuple[str, float, int]]) -> None:
    limit, now = ConcurrencyLimit(most), 0.0
    for what, seconds, tokens in events * 20:
        limit.note_sent(limit.value)
        now += seconds
        if what == "answer":
            limit.note_answer(now - seconds, now, tokens)
        else:
            limit.note_failure(now - seconds, now, is_refusal=what == "refused")
        assert 1 <= limit.value <= most
