"""How long a report takes to write, its page to open and to filter in Chromium, and the viewer to show its first page.

    python -m benchmarks.viewing report --prompts 10000 --completions 16
    python -m benchmarks.viewing page --prompts 100000 --completions 8 --characters 1000
    python -m benchmarks.viewing view --prompts 625000 --completions 16

Prompts and completions are made up: texts of one length from a vocabulary, rewards by a rate of each prompt.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import polars as pl
import pyarrow as pa

from learnable.data.band import Band
from learnable.data.curated.curated_set import publish_curated
from learnable.data.curated.manifest import Manifest
from learnable.data.ledger.ledger import Draw
from learnable.data.policies import Policy
from learnable.data.records import Prompt, Sampling
from learnable.data.schemas import ROLLOUTS, SCORES
from learnable.data.storage.places import find_place
from learnable.data.store import Store
from learnable.data.tables import prompts_table
from learnable.viewing.report import write_report

DRAW = Draw("policy@0123456789abcdef", Sampling())
VERIFIER, VERSION = "choice", "3"
CHUNK = 100_000  # rollouts of a file
TEXTS = 4_000  # different completions
FORMS = 20


def make_texts(rng: np.random.Generator, count: int, characters: int) -> list[str]:
    """Return texts of words that a fixed vocabulary holds, as natural text is: few words are most of it."""
    letters = np.array(list("etaoinshrdlucmfwypvbgk"))
    words = ["".join(rng.choice(letters, int(size))) for size in rng.integers(2, 9, 8_000)]
    weights = 1 / np.arange(1, len(words) + 1)
    drawn = rng.choice(len(words), (count, characters // 5), p=weights / weights.sum())
    return [" ".join(words[place] for place in row)[:characters] for row in drawn]


def make_prompts(texts: list[str], count: int) -> list[Prompt]:
    """Return distinct prompts of several forms."""
    spec = {"answer": "yes"}
    return [
        Prompt(f"{number}: {texts[number % len(texts)]}", VERIFIER, spec, "made up", f"Form{number % FORMS}")
        for number in range(count)
    ]


def fill_ledger(store: Store, prompts: list[Prompt], size: int, rates: np.ndarray, texts: list[str], seed: int) -> None:
    """Write `size` rollouts with scores of each prompt."""
    rng = np.random.default_rng(seed)
    questions = pa.array([prompt.question_id for prompt in prompts])
    ids = pa.array([prompt.prompt_id for prompt in prompts])
    total = len(prompts) * size
    with store.hold(wait=0, on_wait=print):
        for start in range(0, total, CHUNK):
            places = np.arange(start, min(start + CHUNK, total))
            who = places // size
            rollouts = make_rollouts(places, size, questions.take(who), pa.array(texts), rng)
            scores = make_scores(rollouts, ids.take(who), rng.random(len(places)) < rates[who])
            store.ledger._append(f"rollouts/{DRAW.folder}", rollouts.cast(ROLLOUTS))
            store.ledger._append(f"scores/{DRAW.folder}/{VERIFIER}@{VERSION}", scores.cast(SCORES))


def make_rollouts(
    places: np.ndarray, size: int, questions: pa.Array[Any], texts: pa.Array[Any], rng: np.random.Generator
) -> pa.Table:
    """Return rollouts with texts at random; `places` counts them through the whole ledger."""
    chosen, many = rng.integers(0, len(texts), len(places)), len(places)
    return pa.table(
        {
            "rollout_id": pa.array([f"{place:020x}" for place in places]),
            "question_id": questions,
            "policy_id": pa.repeat(DRAW.policy_id, many),
            "sampling_id": pa.repeat(DRAW.sampling.sampling_id, many),
            "max_tokens": pa.repeat(256, many),
            "rollout_index": pa.array(places % size),
            "seed": pa.array(places),
            "completion": texts.take(chosen),
            "completion_id": pa.array([f"{place:016x}" for place in chosen]),
            "finish_reason": pa.repeat("stop", many),
            "num_tokens": pa.repeat(200, many),
            "reasoning": pa.repeat("", many),
            "reasoning_tokens": pa.repeat(0, many),
            "token_ids": pa.nulls(many),
        }
    )


def make_scores(rollouts: pa.Table, ids: pa.Array[Any], passed: np.ndarray) -> pa.Table:
    """Return the scores of rollouts of the prompts `ids`, by whether each passed."""
    components = [[("correct", float(one)), ("format", 1.0)] for one in passed]
    return pa.table(
        {
            "rollout_id": rollouts["rollout_id"],
            "completion_id": rollouts["completion_id"],
            "prompt_id": ids,
            "verifier": pa.repeat(VERIFIER, len(passed)),
            "verifier_version": pa.repeat(VERSION, len(passed)),
            "reward": pa.array(passed.astype(float)),
            "passed": pa.array(passed),
            "components": pa.array(components, SCORES.field("components").type),
            "verdict": pa.repeat("scored", len(passed)),
            "reason": pa.array(["" if one else "answered no" for one in passed]),
        }
    )


def make_store(root: Path, count: int, size: int, characters: int, seed: int) -> Path:
    """Make a store with one curated set; return the version's folder."""
    rng = np.random.default_rng(seed)
    texts = make_texts(rng, TEXTS, characters)
    prompts = make_prompts(make_texts(rng, 1_000, 200), count)
    rates = rng.beta(0.5, 0.5, count)
    store = Store(root)
    fill_ledger(store, prompts, size, rates, texts, seed)
    means = rng.binomial(size, rates) / size
    kept = (means >= 0.2) & (means <= 0.8)
    figures = pl.DataFrame(prompts_table(prompts)).with_columns(
        pl.Series("mean", means),
        pl.Series("std", np.sqrt(means * (1 - means))),
        pl.Series("pass_rate", means),
        pl.Series("ci_low", np.clip(means - 0.17, 0, 1)),
        pl.Series("ci_high", np.clip(means + 0.17, 0, 1)),
        pl.Series("p_keep", rng.random(count)),
        pl.Series("p_in_band", rng.random(count)),
        pl.Series("usable_at_g", 1 - means**16 - (1 - means) ** 16),
        pl.Series("expected_within_variance", means * (1 - means)),
        pl.Series("decision", np.where(kept, "keep", np.where(means < 0.2, "too_hard", "too_easy"))),
        *(pl.lit(value).alias(name) for name, value in (("n", size), ("rollouts", size), ("tokens", 200 * size))),
        *(pl.lit(0).alias(name) for name in ("n_truncated", "n_verifier_error", "n_engine_error")),
    )
    parts = {"train": figures.filter(kept).to_arrow(), "rejects": figures.filter(~kept).to_arrow()}
    manifest = Manifest(
        created="2026-01-01T00:00:00+00:00",
        policy=Policy("policy", DRAW.policy_id),
        sampling=DRAW.sampling,
        group_size=16,
        band=Band(0.2, 0.8, 0.1),
        verifiers={VERIFIER: VERSION},
    )
    return Path(str(publish_curated(store.curated / "made-up", parts, manifest).path))


def time_report(version: Path, place: Path) -> None:
    """Print how long the report takes to write, and how large it is."""
    from learnable.data.curated.curated_set import open_curated

    curated = open_curated(version)
    started, busy = time.monotonic(), time.process_time()
    told = write_report(curated, find_place(place))
    seconds, busy = time.monotonic() - started, time.process_time() - busy
    print(
        f"report of {told.prompts:,} prompts: {seconds:.1f} s ({busy:.1f} s of processor), {told.size / 1e6:.1f} MB, "
        f"completions of {told.with_completions:,}"
    )


def time_page(place: Path) -> None:
    """Print how long the page takes to open and to answer, in Chromium: by the clock, and of its main thread alone."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for address, seen in OPENED.items():
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            page.set_default_timeout(300_000)
            read_busy = measure_thread(page)
            started = time.monotonic()
            page.goto(f"{place.as_uri()}{address}", wait_until="commit")
            page.wait_for_selector(f"html[data-ready] {seen}")
            print(
                f"opened {address or 'the overview'} in {time.monotonic() - started:.2f} s, {read_busy():.2f} s alone"
            )
            if not address:
                wall = page.evaluate(ROWS)
                print(f"then the list of prompts: {wall:.0f} ms")
                page.close()
        for name, address in QUESTIONS.items():
            before = read_busy()
            wall = page.evaluate(WAIT, "#tab=prompts&" + address)
            print(f"{name}: {wall:.0f} ms, {1000 * (read_busy() - before):.0f} ms alone")
        browser.close()


def measure_thread(page: Any) -> Callable[[], float]:
    """Return what tells how many seconds the page's main thread has worked."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def read_busy() -> float:
        metrics = session.send("Performance.getMetrics")["metrics"]
        return float(next(one["value"] for one in metrics if one["name"] == "TaskDuration"))

    return read_busy


OPENED = {"": "figure svg", "#tab=prompts": ".list .row .cell"}  # addresses, and what is there once they are open
QUESTIONS = {
    "a form": "form=Form7",
    "a decision and a range": "decision=keep&measure=p_keep&min=0.5",
    "an order": "sort=p_keep&order=down",
    "the same order of a form": "sort=p_keep&order=down&form=Form3",
    "words of prompts, first": "scope=prompts&q=1234",
    "words of prompts, again": "scope=prompts&q=99: ",
    "words of completions, first": "q=zzzz",
    "words of completions, again": "q=yyyy",
}
ROWS = """async () => {
  const start = performance.now();
  location.hash = "#tab=prompts";
  while (!document.querySelector(".list .row .cell")) await new Promise(requestAnimationFrame);
  return performance.now() - start;
}"""
WAIT = """async hash => {
  const status = document.querySelector(".status");
  const start = performance.now();
  const done = new Promise(resolve => new MutationObserver((_, watcher) => {
    if (/prompts/.test(status.textContent)) { watcher.disconnect(); resolve(); }
  }).observe(status, {childList: true, characterData: true, subtree: true}));
  location.hash = hash;
  await done;
  await new Promise(requestAnimationFrame);
  return performance.now() - start;
}"""


@contextmanager
def serving(store: Path) -> Iterator[tuple[str, str]]:
    """Serve a store from a thread; gives the address and the token."""
    import uvicorn

    from learnable.viewing.library import Library
    from learnable.viewing.server import make_app

    config = uvicorn.Config(make_app(Library(Store(store).open(), Path("runs")), "token"), port=0, log_level="error")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}/api", "token"
    server.should_exit = True
    thread.join()


def time_view(store: Path) -> None:
    """Print how long a fresh server takes to answer what the page asks first."""
    with serving(store) as (address, token):

        def ask(path: str) -> Any:
            request = urllib.request.Request(f"{address}/{path}", headers={"x-token": token})
            with urllib.request.urlopen(request) as answer:
                return json.load(answer)

        name = "set=made-up/v0001"
        whole = time.monotonic()
        rows: Any = None
        for what in ("sets", f"summary?{name}", f"count?{name}", f"rows?{name}&from=0&to=100"):
            started = time.monotonic()
            rows = ask(what)
            print(f"{what}: {time.monotonic() - started:.2f} s")
        print(f"first page: {time.monotonic() - whole:.2f} s")
        begun = time.monotonic()
        words = ask(f"prompt?{name}&id={rows[0]['prompt_id']}")["completions"][0]["text"][:40]
        print(f"a prompt, opened at once: {time.monotonic() - begun:.2f} s")
        for text in ("zzzz", words):
            time_search(ask, f"count?{name}&scope=completions&text={quote(text)}")
        for what in (
            f"count?{name}&decision=keep&measure=mean&min=0.4&sort=p_keep",
            f"count?{name}&scope=prompts&text=1234",
            f"prompt?{name}&id={rows[0]['prompt_id']}",
            f"prompt?{name}&id={rows[50]['prompt_id']}",
            "stamp",
            "live",
        ):
            started = time.monotonic()
            ask(what)
            print(f"{what}: {time.monotonic() - started:.2f} s")


def time_search(ask: Callable[[str], Any], question: str) -> None:
    """Print how long a search of all completions takes to its first hits and to its end, asked as the page asks."""
    started, first = time.monotonic(), None
    while (found := ask(question))["searched"] < 1:
        if found["total"] and first is None:
            first = time.monotonic() - started
        time.sleep(0.3)
    seconds = time.monotonic() - started
    told = f"{found['total']:,} prompts, the first after {first or seconds:.1f} s" if found["total"] else "nothing"
    print(f"{question.rpartition('&')[2]}: found {told}, all searched after {seconds:.1f} s")


def main() -> None:
    """Make a store of the size that is asked for, and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("report", "page", "view"))
    parser.add_argument("--prompts", type=int, default=10_000)
    parser.add_argument("--completions", type=int, default=16)
    parser.add_argument("--characters", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--store", type=Path, help="keep the store here, or use the one that is here")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = given.store or Path(folder) / "store"
        version = root / "curated" / "made-up" / "v0001"
        if not version.is_dir():
            started = time.monotonic()
            make_store(root, given.prompts, given.completions, given.characters, given.seed)
            print(
                f"made a store of {given.prompts * given.completions:,} rollouts in {time.monotonic() - started:.0f} s"
            )
        if given.what == "view":
            time_view(root)
            return
        time_report(version, Path(folder) / "report.html")
        if given.what == "page":
            time_page(Path(folder) / "report.html")


if __name__ == "__main__":
    main()
