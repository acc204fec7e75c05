"""Scoring on the nodes of a real Ray cluster: nothing is lost with a node, and none runs programs unconfined."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.rollouts.ray.ray_cluster_for_tests import ray_cluster
from tests.support.paths import ROOT

pytestmark = pytest.mark.e2e

JUDGE = """
import os, time
from marks import PASS  # a module beside it

def judge(completions, **_):
    time.sleep(0.02)
    return [float(completion == PASS) for completion in completions]

def place(completions, **_):
    return [1.0 if "learnable-judges-" in __file__ else 0.0 for _ in completions]

class Nowhere:
    name, version = "nowhere", "1"
    def warm_up(self):
        raise OSError("the word list is missing")
    def check_spec(self, spec): ...
    def score(self, completion, *, prompt, spec): ...

class Misbehaving:
    name, version, time_limit = "misbehaving", "1", 5.0
    def check_spec(self, spec): ...
    def score(self, completion, *, prompt, spec):
        from learnable.data.records import Score
        if completion == "hang":
            time.sleep(600)
        if completion == "die":
            os._exit(3)
        return Score(float(completion), True)
"""

# On one node the server of the sandbox is started without its filter, so that its own test fails.
UNCONFINED = """
import sys
if any("pool.worker" in part for part in sys.orig_argv):
    sys.path[:0] = [{source!r}]
    from learnable.verifiers.programs.sandbox import server
    build = server.build_command
    filtered, bare = '"seccomp": true', '"seccomp": false'
    server.build_command = lambda *wanted: [part.replace(filtered, bare) for part in build(*wanted)]
"""

SCRIPT = """
import json, os, sys, time
from contextlib import suppress
from dataclasses import astuple
from types import SimpleNamespace

from learnable.cli.app import app
from learnable.data.errors import LearnableError
from learnable.data.progress import Silence, watched_by
from learnable.flows.sampling import judges
from learnable.flows.sampling.collector import Collector
from learnable.flows.settings import CurateSettings
from learnable.rollouts.ray.actors import Actors
from learnable.verifiers.pool.scoring import ScoreJob
from learnable.verifiers.registry import trust_verifier

ADDRESS, OWN = sys.argv[1], os.dup(1)
taken, opened, started, take, open_actor, supervise = 0, 0, [], Collector.take, Actors.open, judges._supervise_nodes

def take_and_lose(self, answer):
    import ray
    global taken
    taken += 1
    if taken == 30 and ray.is_initialized():
        os.write(OWN, b"lose\\n")
        while sum(node["Alive"] for node in ray.nodes()) == 3:
            time.sleep(0.1)
    return take(self, answer)

def count_opened(self):
    global opened
    opened += 1
    return open_actor(self)

def note_start(*arguments):
    started.append(supervise(*arguments))
    return started[-1]

def find(store, *options):
    os.dup2(os.open(store + ".json", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 1)
    with suppress(SystemExit):
        app(["find", "--prompts", "rates.jsonl", "--engine", "simulated", "--verifier", "judge.py:judge", "--store",
             store, "--name", "set", "--no-prefect", "--json", "--quiet", *options])
    os.dup2(OWN, 1)

class Watcher(Silence):
    def __init__(self):
        self.warnings = []
    def warn(self, text):
        self.warnings.append(text)

def score(verifier, completions, spec="{}", warning=None):  # where one is to come, each node starts and is waited for
    if ":" in verifier:
        trust_verifier(verifier)
    run = SimpleNamespace(settings=CurateSettings(score_on=ADDRESS, workers=1), conditions={})
    watcher = Watcher()
    try:
        with watched_by(watcher), judges.open_judges(run, [verifier], lambda *_: None) as pool:
            jobs = [ScoreJob(verifier, completion, "", spec) for completion in completions]
            if warning:
                pool.warm_up([verifier])
            scores = [[each.reward, each.verdict, each.reason] for each in pool.submit(jobs).result()]
            deadline = time.monotonic() + 100
            while warning and not any(warning in text for text in watcher.warnings) and time.monotonic() < deadline:
                time.sleep(0.1)
    except LearnableError as error:
        scores = str(error)
    return {"scores": scores, "warnings": watcher.warnings, "conditions": run.conditions}

def main():
    said = {}
    spec = json.dumps({"entry": "double", "cases": [[[21], 42], [["ab"], "abab"]]})
    programs = ["def double(x):\\n    return 2 * x", "def double(x):\\n    return x"]
    said["programs"] = score("programs", programs, spec, "scores nothing")
    said["place"] = score("judge.py:place", ["x"])
    said["nowhere"] = score("judge.py:Nowhere", ["x"])
    said["misbehaving"] = score("judge.py:Misbehaving", ["0.25", "hang", "0.5", "die", "0.75"])
    find("here", "--workers", "1")
    Collector.take, Actors.open, judges._supervise_nodes = take_and_lose, count_opened, note_start
    find("there", "--score-on", ADDRESS, "--workers", "1")
    said["opened"], said["started"] = opened, len(started)
    find("there", "--score-on", ADDRESS, "--workers", "1")
    said["started_again"] = len(started) - said["started"]
    print(json.dumps(said))

if __name__ == "__main__":
    main()
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("judges")
    (folder / "judge.py").write_text(JUDGE)
    (folder / "marks.py").write_text('PASS = "pass"\n')
    (folder / "script.py").write_text(SCRIPT)
    rows = [{"prompt": f"question {row}", "spec": {"rate": row / 100}, "family": "all"} for row in range(1, 100)]
    (folder / "rates.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    site = folder / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(UNCONFINED.format(source=str(ROOT / "src")))
    return folder


@pytest.fixture(scope="module")
def said(folder: Path) -> dict[str, Any]:
    unconfined = {"PYTHONPATH": os.pathsep.join(filter(None, [str(folder / "site"), os.environ.get("PYTHONPATH", "")]))}
    with (
        ray_cluster([{}, unconfined, {}]) as cluster,
        (folder / "errors").open("w+") as errors,
        subprocess.Popen(
            [sys.executable, str(folder / "script.py"), cluster.address],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as process,
    ):
        assert process.stdout
        lines = []
        for line in process.stdout:
            lines.append(line.strip())
            if lines[-1] == "lose":
                cluster.lose_node()
        process.wait(60)
        errors.seek(0)
        assert lines[-1].startswith("{"), f"{lines}\n{errors.read()[-5000:]}"
    assert lines[:-1] == ["lose"], lines
    answer: dict[str, Any] = json.loads(lines[-1])
    return answer


def read_scores(store: Path) -> pl.DataFrame:
    scores = pl.concat([pl.read_parquet(file) for file in store.glob("scores/**/*.parquet")])
    return scores.sort("prompt_id", "rollout_id")


def test_a_lost_node_loses_no_score_and_changes_no_decision(said: dict[str, Any], folder: Path) -> None:
    here, there = read_scores(folder / "here"), read_scores(folder / "there")
    columns = ["prompt_id", "rollout_id", "reward", "passed", "verdict"]
    assert there.select(columns).equals(here.select(columns))
    assert set(there["verdict"]) == {"scored"}
    assert there.height > 1000
    assert said["opened"] >= 4  # three, and one in place of the lost one, if its first try did not fall into the loss
    for part in ("train", "rejects", "test"):
        one, two = (
            pl.read_parquet(next((folder / store / "curated" / "set").glob(f"*1/{part}*.parquet"))).sort("prompt_id")
            for store in ("here", "there")
        )
        assert one.select("prompt_id", "decision").equals(two.select("prompt_id", "decision"))


def test_the_same_command_generates_and_scores_nothing(said: dict[str, Any], folder: Path) -> None:
    report = json.loads((folder / "there.json").read_text())
    assert (report["totals"]["generated"], report["totals"]["errors"]) == (0, 0)
    assert (said["started"], said["started_again"]) == (1, 0)


def test_a_node_whose_sandbox_fails_its_test_runs_no_program(said: dict[str, Any]) -> None:
    programs = said["programs"]
    assert [score[0] for score in programs["scores"]] == [1.0, 0.0]
    [warning] = [text for text in programs["warnings"] if "scores nothing" in text]
    assert warning.startswith("node ")
    assert ": verifier 'programs': programs cannot be confined on this machine" in warning
    assert "the sandbox's own test failed" in warning
    assert programs["conditions"]["programs"]["sandbox_rung"] in ("A", "B")


def test_a_judge_of_ones_own_travels_with_the_modules_beside_it(said: dict[str, Any]) -> None:
    assert said["place"]["scores"][0][0] == 1.0


def test_where_no_node_can_judge_each_says_why(said: dict[str, Any]) -> None:
    error = said["nowhere"]["scores"]
    assert error.startswith("no node of the Ray cluster can score: node ")
    assert error.count("verifier 'judge.py:Nowhere': the word list is missing") == 3


def test_a_judge_that_hangs_or_dies_takes_no_neighbour_with_it(said: dict[str, Any]) -> None:
    rewards = [score[0] for score in said["misbehaving"]["scores"]]
    assert rewards == [0.25, None, 0.5, None, 0.75]
    verdicts = {score[1] for score in said["misbehaving"]["scores"] if score[0] is None}
    assert verdicts == {"verifier_error"}
