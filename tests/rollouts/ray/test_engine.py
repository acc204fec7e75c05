"""Real vLLM replicas on a real Ray cluster of two nodes, both on this machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from learnable.data.policies import find_policy
from tests.flows.sampling.agreement_for_tests import Workplace, agree
from tests.rollouts.ray.ray_cluster_for_tests import LocalCluster, ray_cluster
from tests.support.warm_starts import Starter

pytestmark = pytest.mark.e2e

SCRIPT = """
import json, os, sys, time
from contextlib import suppress
from dataclasses import asdict
from learnable.cli.app import app
from learnable.data.errors import LearnableError
from learnable.data.progress import Silence, watched_by
from learnable.data.records import Message, Prompt, Sampling
from learnable.flows.engines import engine_for
from learnable.flows.settings import CurateSettings, RaySettings
from learnable.rollouts.ray import engine as ray_engine, stream as ray_stream
from learnable.rollouts.protocol import GroupRequest, Refusal
from learnable.rollouts.ray.engine import RayEngine

ray_stream.PATROL_SECONDS, ray_stream.MISSED_PATROLS = 1.0, 2
ADDRESS = sys.argv[1]

def prompt(text):
    return Prompt(text, "choice", {"answer": "x"}, family="f", form="F")

class Watcher(Silence):
    def __init__(self):
        self.warnings = []
    def warn(self, text):
        self.warnings.append(text)

def failure(call, *kinds):
    try:
        call()
    except kinds as error:
        return type(error).__name__ + ": " + str(error)
    return "none"

def idle_cpus(ray, wanted):
    deadline = time.monotonic() + 300
    while (idle := ray.available_resources().get("CPU", 0)) != wanted and time.monotonic() < deadline:
        time.sleep(0.2)
    return idle

def main():
    addresses = ["127.0.0.1:1", "head", "ray://127.0.0.1:10001"]
    said = {"unreached": [failure(lambda: RayEngine(address=each), LearnableError) for each in addresses]}
    said["crowded"] = failure(lambda: RayEngine(address=ADDRESS, replicas=3), LearnableError)
    own = os.dup(1)
    os.dup2(os.open("report.json", os.O_WRONLY | os.O_CREAT), 1)
    with suppress(SystemExit):
        app(sys.argv[2:])
    os.dup2(own, 1)
    engine = engine_for(CurateSettings(engine=RaySettings({}, ADDRESS, replicas=2)))  # the command's, which still runs
    import ray
    texts = [prompt(text) for text in ("Calculate: 2 + 3 = ", "Calculate: 7 + 8 = ", "Write a haiku about rain.")]
    chat, long = prompt((Message("user", texts[0].prompt),)), prompt("rain " * 600)
    said |= {
        "policy_id": engine.policy_id, "max_context": engine.max_context,
        "counts": engine.count_tokens([*texts, chat, long]),
        "nodes": sum(node["Alive"] for node in ray.nodes()),
    }
    requests = [GroupRequest(each, 4, first_index=8) for each in [*texts, chat, long]]
    answers = list(engine.generate(requests, Sampling(max_tokens=32)))
    said["idle_while_loaded"] = idle_cpus(ray, 0)
    said["groups"] = [[asdict(each) for each in group] for group in answers if not isinstance(group, Refusal)]
    said["seeds"] = {request.prompt.question_id: request.base_seed for request in requests}
    said["refused"] = [[each.request.prompt == long, each.reason] for each in answers if isinstance(each, Refusal)]
    said["short"] = [
        [each.finish_reason, each.num_tokens]
        for group in engine.generate([GroupRequest(texts[2], 4)], Sampling(max_tokens=3)) for each in group
    ]
    ray_engine.ROWS_A_REPLICA = 256
    watcher, sent = Watcher(), []
    def endless():  # until a node is lost
        while not watcher.warnings:
            sent.append(GroupRequest(prompt(f"Write a haiku about {len(sent)}."), 8))
            yield sent[-1]
    with watched_by(watcher):
        groups = engine.generate(endless(), Sampling(max_tokens=16))
        come = [next(groups)]
        print("lose", flush=True)
        come.extend(groups)
    said["lost"] = {
        "warnings": watcher.warnings,
        "sent": sorted([each.prompt.question_id, each.base_seed + child] for each in sent for child in range(8)),
        "come": sorted([each.question_id, each.seed] for group in come for each in group),
    }
    early = engine.generate(sent, Sampling(max_tokens=8))
    said["early"] = len(next(early))
    early.close()
    said["idle_when_closed"] = idle_cpus(ray, 1)
    said["after"] = failure(lambda: RayEngine(address=ADDRESS, replicas=2), LearnableError)
    engine.close()
    said["connected"] = ray.is_initialized()
    print(json.dumps(said))

if __name__ == "__main__":
    main()
"""


def run(cluster: LocalCluster, script: Path, place: Workplace) -> tuple[list[str], str]:
    """Run the script beside the cluster, lose a node when it says so, and return what it printed.

    It starts cold: Ray reads the cluster's variables while it is imported.
    """
    judges = ("--score-on", "ray", "--workers", "1")  # on both nodes, beside the replicas
    find = place.arguments("ray", 3, "--ray-address", cluster.address, "--replicas", "2", *judges)
    with (
        script.with_suffix(".err").open("w+") as errors,
        subprocess.Popen(
            [sys.executable, str(script), cluster.address, *find],
            cwd=place.folder,
            env=os.environ | place.home,
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
        return lines, errors.read()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, starter: Starter) -> Workplace:
    return Workplace(tmp_path_factory.mktemp("ray"), starter)


@pytest.fixture(scope="module")
def said(place: Workplace) -> dict[str, Any]:
    script = place.folder / "script.py"
    script.write_text(SCRIPT)
    with ray_cluster(nodes=2, cpus=1) as cluster:
        lines, errors = run(cluster, script, place)
    assert len(lines) == 2, f"{lines}\n{errors[-3000:]}"  # what Ray prints would be a third
    of_ray = [line for line in errors.splitlines() if not line.startswith("warning: ")]  # the command's
    assert not of_ray, errors[-3000:]
    answer: dict[str, Any] = json.loads(lines[-1])
    return answer


def test_groups_come_back_whole_with_their_seeds(said: dict[str, Any]) -> None:
    assert len(said["groups"]) == 4
    for group in said["groups"]:
        first_seed = said["seeds"][group[0]["question_id"]]
        assert [row["rollout_index"] for row in group] == [8, 9, 10, 11]
        assert [row["seed"] for row in group] == [first_seed + child for child in range(4)]
        assert len({row["question_id"] for row in group}) == 1
        assert {row["policy_id"] for row in group} == {find_policy(None).policy_id}
        assert all(row["num_tokens"] == len(row["token_ids"]) > 0 and row["completion"] for row in group)
    assert said["policy_id"] == find_policy(None).policy_id


def test_completions_that_end_and_those_cut_short_are_told_apart(said: dict[str, Any]) -> None:
    ends = {row["finish_reason"] for group in said["groups"] for row in group}
    assert "stop" in ends
    assert said["short"] == [["length", 3]] * 4
    assert not any("<eos>" in row["completion"] for group in said["groups"] for row in group)


def test_a_prompt_beyond_the_context_is_counted_and_refused(said: dict[str, Any]) -> None:
    text, _, _, chat, long = said["counts"]
    assert said["max_context"] == 512 < long
    assert 5 < text < 30
    assert abs(chat - text) <= 1  # the bundled chat template adds no words
    [[is_the_long_one, reason]] = said["refused"]
    assert is_the_long_one
    assert reason.startswith("vLLM: ")


def test_each_node_holds_a_replica_until_the_generator_is_closed(said: dict[str, Any]) -> None:
    assert (said["nodes"], said["idle_while_loaded"]) == (2, 0)  # of one CPU each
    assert (said["early"], said["idle_when_closed"]) == (8, 1)  # one node is lost by then


def test_where_a_node_is_lost_the_run_goes_on_and_each_rollout_comes_once(said: dict[str, Any]) -> None:
    lost = said["lost"]
    assert lost["warnings"] == ["Ray lost nodes: 1 of 2 replicas have room left; the run goes on with 1"]
    assert lost["come"] == lost["sent"]
    assert said["after"].startswith("LearnableError: `replicas` 2 does not fit: 1 of them do")


def test_an_address_where_no_cluster_is_comes_with_its_fix(said: dict[str, Any]) -> None:
    refused, no_address, client = said["unreached"]
    assert "'127.0.0.1:1' cannot be used: nobody answers there: start it with `ray start --head`" in refused
    assert "give `ray_address` as auto or HOST:PORT" in no_address
    assert "`ray job submit`" in client


def test_replicas_that_never_fit_are_refused_at_once(said: dict[str, Any]) -> None:
    assert said["crowded"].startswith("LearnableError: `replicas` 3 does not fit: 2 of them do")
    assert said["connected"] is False


def test_replicas_agree_with_vllm_in_process(
    said: dict[str, Any], place: Workplace, drawn_in_process: pl.DataFrame
) -> None:
    assert agree(drawn_in_process, place.stored_rewards("ray", (place.folder / "report.json").read_text()))
