"""How busy are many engines while groups stop by themselves? The product's own sampler, in simulated time.

`AdaptiveSampling` runs as in a curation, in the default mode, over prompts with known pass rates. The engine and the
verifiers are stand-ins that take simulated time: each replica works on 256 sequences at once, 40 tokens a second each,
of completions with lognormal lengths (of the logarithm the standard deviation is .8) that are cut at 8,192 tokens. In
flight are twice as many sequences as there are slots, as with vLLM, which looks for requests after each token, or here
each hundredth of the mean length. Verifiers take as long as is said, all at once.

Reports the share of the slots that are busy from the first request to the last score, rollouts a prompt, those that no
decision needed (with those that are dropped at the end), seconds, those that fixed groups of 32 take on the same
engines, and the driver's processor time.

    python -m benchmarks.engines.occupancy [--replicas 64] [--prompts 100000] [--verifier-seconds 1] [--tokens 2000]
        [--population beta:0.2,1] [--seed 1] [--json]
"""

from __future__ import annotations

import argparse
import heapq
import json
import tempfile
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
from upath import UPath

from benchmarks.decisions.sampling import draw_rates
from learnable.data.progress import Silence, watched_by
from learnable.data.records import Prompt, Rollout, Sampling, Score
from learnable.filters.arrays import Values
from learnable.filters.stopping.schedule import Schedule, hash_to_uniforms
from learnable.flows.engines import use_engine
from learnable.flows.sampling.collector import Collector
from learnable.flows.sampling.reward_table import RewardTable
from learnable.flows.sampling.sampler import AdaptiveSampling
from learnable.flows.settings import CurateSettings, PromptSettings
from learnable.rollouts.protocol import Answer, GroupRequest
from learnable.rollouts.settings import SimulatedSettings

SLOTS_A_REPLICA = 256
TOKENS_A_SECOND = 40.0  # of one sequence
CAP = 8192  # tokens
LOG_STD = 0.8  # of lengths
FIXED = 32


@dataclass
class Clock:
    """Simulated seconds, and how many of them slots were busy."""

    now: float = 0.0
    busy: float = 0.0
    made: int = 0


@dataclass(slots=True)
class TimedRollout:
    """What the sampler wants to know of a rollout before it is written."""

    question_id: str
    rollout_index: int
    num_tokens: float
    ahead: bool = False


class TimedEngine:
    """An engine whose completions take simulated time."""

    policy_id = "simulated"
    max_context = 1 << 30

    def __init__(self, clock: Clock, slots: int, lengths: Lengths, verifiers: TimedCollector) -> None:
        self.clock, self.slots, self.lengths, self.verifiers = clock, slots, lengths, verifiers
        self.in_flight, self.running = 0, list[tuple[float, int]]()  # when each ends, and of which group it is

    @property
    def idle_slots(self) -> int:
        """Slots that no sequence waits for."""
        return self.slots - self.in_flight

    def count_tokens(self, prompts: Sequence[Prompt]) -> list[int]:
        """Prompts are short."""
        return [1] * len(prompts)

    def generate(self, requests: Iterable[GroupRequest], sampling: Sampling) -> Iterator[Answer]:
        """Yield groups as they end."""
        clock, queue = self.clock, iter(requests)
        waiting: deque[tuple[float, int]] = deque()
        running = self.running = list[tuple[float, int]]()
        groups: dict[int, tuple[GroupRequest, list[float]]] = {}
        missing: dict[int, int] = {}
        number = self.in_flight = 0
        while True:
            while self.in_flight < 2 * self.slots and (request := next(queue, None)) is not None:
                number, seconds = number + 1, self._begin(request)
                groups[number], missing[number] = (request, seconds), request.group_size
                waiting.extend((each, number) for each in seconds)
            while waiting and len(running) < self.slots:
                each, of = waiting.popleft()
                heapq.heappush(running, (clock.now + each, of))
                clock.busy += each
            if not running:
                return
            step = max(1.0, self.lengths.mean / 100) / TOKENS_A_SECOND  # between two looks for more requests
            clock.now = min(running[0][0], max(self.verifiers.next_score, clock.now + step)) + step
            while running and running[0][0] <= clock.now:
                ended, of = heapq.heappop(running)
                self.in_flight, missing[of] = self.in_flight - 1, missing[of] - 1
                if waiting:  # the engine itself goes on at once
                    each, other = waiting.popleft()
                    heapq.heappush(running, (ended + each, other))
                    clock.busy += each
                if not missing[of]:
                    del missing[of]
                    yield self._answer(*groups.pop(of))

    def close(self) -> None:
        """Nothing to free."""

    def _begin(self, request: GroupRequest) -> list[float]:
        """Count a group as made; return how long each of its completions takes."""
        self.clock.made, self.in_flight = self.clock.made + request.group_size, self.in_flight + request.group_size
        return [tokens / TOKENS_A_SECOND for tokens in self.lengths.draw(request.group_size)]

    def _answer(self, request: GroupRequest, seconds: list[float]) -> Answer:
        question_id, first = request.prompt.question_id, request.first_index
        rollouts = [
            TimedRollout(question_id, rollout_index=first + child, num_tokens=each * TOKENS_A_SECOND)
            for child, each in enumerate(seconds)
        ]
        return cast(list[Rollout], rollouts)


@dataclass
class Lengths:
    """Lengths of completions, in tokens, drawn many at a time."""

    mean: float
    rng: np.random.Generator
    drawn: list[float] = field(default_factory=list)

    def draw(self, count: int) -> list[float]:
        """Return so many."""
        if len(self.drawn) < count:
            self.drawn = draw_lengths(self.mean, 100_000, self.rng).tolist()
        taken = self.drawn[-count:]
        del self.drawn[-count:]
        return taken


class TimedCollector:
    """A `Collector` whose verifiers take simulated time, and know what each rollout is worth."""

    def __init__(self, clock: Clock, table: RewardTable, rewards: Values, seconds: float, folder: str) -> None:
        self.clock, self.table, self.rewards, self.seconds = clock, table, rewards, seconds
        self.ledger = SimpleNamespace(root=UPath(folder))
        self.draw = SimpleNamespace(policy_id="simulated")
        self.components = SimpleNamespace(tell=lambda: None)
        self.pool, self.versions = SimpleNamespace(warm_up=lambda names: None), dict[str, str]()
        self._scoring: deque[tuple[float, Answer]] = deque()

    @property
    def next_score(self) -> float:
        """When the next score comes; never, if none does."""
        return self._scoring[0][0] if self._scoring else float("inf")

    @property
    def is_scoring(self) -> bool:
        """Whether scores are still to come."""
        return bool(self._scoring)

    def take(self, answer: Answer) -> int:
        """Take what the engine yielded."""
        self._scoring.append((self.clock.now + self.seconds, answer))
        self.hurry()
        return len(cast(list[Rollout], answer))

    def hurry(self, *, wait: bool = False) -> None:
        """Take the scores that are there."""
        if wait:
            self.clock.now = max(self.clock.now, self.next_score)
        while self._scoring and self._scoring[0][0] <= self.clock.now:
            self._score(cast(list[Rollout], self._scoring.popleft()[1]))

    def settle(self) -> None:
        """Wait for every score."""
        while self._scoring:
            self.hurry(wait=True)

    def _score(self, rollouts: list[Rollout]) -> None:
        prompt = self.table.prompts_of(rollouts[0].question_id)[0]
        values = self.rewards[self.table.row[prompt.prompt_id][0]]
        scores = [Score(float(values[r.rollout_index]), bool(values[r.rollout_index])) for r in rollouts]
        self.table.take([(prompt, rollout) for rollout in rollouts], scores)


def measure(replicas: int, prompts: int, seconds: float, tokens: float, population: str, seed: int) -> dict[str, Any]:
    """Sample a pool of prompts to the end; return the figures."""
    rng = np.random.default_rng([seed, replicas, prompts])
    rates, slots, clock = draw_rates(population, prompts, rng), SLOTS_A_REPLICA * replicas, Clock()
    pool = [Prompt(f"prompt {i}", "simulated", {"rate": 0.5}, family="simulated", form="s") for i in range(prompts)]
    with tempfile.TemporaryDirectory() as folder, watched_by(Silence()):
        simulated = PromptSettings(families=("simulated",))
        settings = CurateSettings(prompts=simulated, engine=SimulatedSettings(), store=folder, seed=seed)
        uniforms = hash_to_uniforms([prompt.prompt_id for prompt in pool])
        schedule = Schedule(["simulated"] * prompts, uniforms, settings.band, settings.budget, settings.group_size)
        table = RewardTable(schedule, pool, settings)
        rewards = (rng.random(schedule.rewards.shape) < rates[:, None]).astype(np.float64)
        collector = TimedCollector(clock, table, rewards, seconds, folder)
        engine = TimedEngine(clock, slots, Lengths(tokens, rng), collector)
        started = time.process_time()
        with use_engine(engine, settings):
            AdaptiveSampling(schedule, table, cast(Collector, collector), settings).run()
        collector.settle()
        clock.busy -= sum(max(end - clock.now, 0.0) for end, _ in engine.running)  # of what was dropped
        spent = time.process_time() - started
    needed = int(schedule.requested.sum())
    return {
        "replicas": replicas,
        "prompts": prompts,
        "verifier_seconds": seconds,
        "tokens": tokens,
        "population": population,
        "seed": seed,
        "occupancy": round(clock.busy / (slots * clock.now), 3),
        "rollouts_per_prompt": round(needed / prompts, 3),
        "unneeded_share": round(clock.made / needed - 1, 4),
        "seconds": round(clock.now, 1),
        "fixed_seconds": round(time_fixed(prompts, slots, tokens, rng) + seconds, 1),
        "driver_seconds_per_prompt": round(spent / prompts, 6),
    }


def time_fixed(prompts: int, slots: int, tokens: float, rng: np.random.Generator) -> float:
    """Return the seconds that groups of one size take, all of whose rollouts are requested at once."""
    lengths = draw_lengths(tokens, prompts * FIXED, rng) / TOKENS_A_SECOND
    ends = lengths[:slots].tolist()
    heapq.heapify(ends)
    for each in lengths[slots:].tolist():
        heapq.heapreplace(ends, ends[0] + each)
    return float(max(ends))


def draw_lengths(mean: float, count: int, rng: np.random.Generator) -> Values:
    """Draw lengths of completions, in tokens; `mean` is theirs before they are cut."""
    lengths: Values = np.clip(rng.lognormal(np.log(mean) - LOG_STD**2 / 2, LOG_STD, count), 1, CAP)
    return lengths


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicas", type=int, nargs="+", default=[1, 8, 64])
    parser.add_argument("--prompts", type=int, nargs="+", default=[100_000])
    parser.add_argument("--verifier-seconds", type=float, nargs="+", default=[1.0])
    parser.add_argument("--tokens", type=float, nargs="+", default=[2000.0], help="mean length of a completion")
    parser.add_argument("--population", default="beta:0.2,1", help="of pass rates, as `decisions.sampling` has them")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="one JSON object a setting")
    arguments = parser.parse_args()
    for tokens in arguments.tokens:
        for seconds in arguments.verifier_seconds:
            for prompts in arguments.prompts:
                for replicas in arguments.replicas:
                    figures = measure(replicas, prompts, seconds, tokens, arguments.population, arguments.seed)
                    print(json.dumps(figures) if arguments.json else describe(figures), flush=True)


def describe(figures: dict[str, Any]) -> str:
    """Return the figures as a line."""
    return (
        f"{figures['prompts']:,} prompts on {figures['replicas']} replicas, {figures['tokens']:g} tokens, verifiers "
        f"{figures['verifier_seconds']:g} s: busy {figures['occupancy']:.2f}, {figures['rollouts_per_prompt']:.2f} "
        f"rollouts a prompt ({figures['unneeded_share']:.1%} unneeded), {figures['seconds']:,.0f} s (fixed groups of "
        f"{FIXED}: {figures['fixed_seconds']:,.0f} s), driver {figures['driver_seconds_per_prompt']:.6f} s a prompt"
    )


if __name__ == "__main__":
    main()
