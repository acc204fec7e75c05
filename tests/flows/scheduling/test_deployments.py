"""Flows as a deployment loads them: from their files, with parameters that went through JSON."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from learnable.data.errors import LearnableError
from learnable.data.records import Sampling
from learnable.filters.decisions.presets import find_preset
from learnable.filters.stopping.budget import SamplingBudget
from learnable.flows.settings import CurateSettings, PromptSettings, RefreshSettings
from learnable.flows.settings.earlier_versions import RENAMED, with_current_names
from learnable.flows.settings.engines import RaySettings, ServerSettings, SimulatedSettings, VLLMSettings
from learnable.flows.settings.loop import LoopSettings
from learnable.train.settings import TrainSettings
from tests.support.paths import ROOT

FLOWS = ROOT / "flows"
LOAD = """
import json, sys
from prefect.flows import load_flow_from_entrypoint

for entrypoint, stored in json.loads(sys.argv[1]):
    parameters = load_flow_from_entrypoint(entrypoint).validate_parameters(stored)
    print(json.dumps({name: repr(value) for name, value in parameters.items()}))
"""
CURATE = CurateSettings(prompts=PromptSettings(families=("arithmetic",), limit=8), store="s", name="n")
REFRESH = RefreshSettings(curated="c", policy="p", anchors=12)
TRAIN = TrainSettings(curated="c", output="o", families=("arithmetic",))
SERVER = ServerSettings(("http://one/v1", "http://two/v1"), "m", "KEY", 8, 60.0, 30.0)
SIMULATED = CurateSettings(prompts=PromptSettings(families=("simulated",)), engine=SimulatedSettings({"tokens": 20}))

# As the version before wrote them: one class of engine settings for all engines, and other names of fields.
STORED = json.loads(Path(__file__).with_name("deployments_of_an_earlier_version.json").read_text())
MEANT = {
    "curate": {
        "settings": CurateSettings(
            prompts=PromptSettings(families=("arithmetic",), limit=8, knobs={"arithmetic.largest": "50"}),
            store="s",
            name="n",
        ),
        "train": None,
    },
    "curate: server, and training": {
        "settings": CurateSettings(
            prompts=PromptSettings(location="q.jsonl", verifier="arithmetic", near_duplicates=0.9),
            policy="org/model",
            engine=SERVER,
            budget=SamplingBudget(want=200, precision=0.9, max_group=64, top_up=True),
            preset=find_preset("hard-biased").override(min_std=0.2),
            sampling=Sampling(temperature=0.7, top_k=20, max_tokens=64),
            truncated="exclude",
            workers=3,
        ),
        "train": TrainSettings(curated="", output="", part="train", steps=3, beta=0.04, families=("a",)),
    },
    "curate: ray": {
        "settings": CurateSettings(
            prompts=PromptSettings(families=("poetry",)), engine=RaySettings({"max_model_len": 512}, "auto", 4)
        ),
        "train": None,
    },
    "curate: simulated": {
        "settings": CurateSettings(
            prompts=PromptSettings(families=("simulated",)),
            engine=SimulatedSettings({"tokens": 20}),
            budget=SamplingBudget(sampling="fixed"),
            group_size=8,
            wait=False,
        ),
        "train": None,
    },
    "refresh": {
        "settings": RefreshSettings(
            curated="c",
            policy="p",
            engine=VLLMSettings({"max_num_seqs": 4}),
            anchors=12,
            store="s",
            verifier_timeout=2.0,
        )
    },
    "finetune": {
        "settings": TrainSettings(
            curated="c", output="o", part="train", families=("arithmetic",), beta=0.04, lora_rank=16, learning_rate=1e-6
        )
    },
}


def load(deployments: list[tuple[str, Mapping[str, Any]]]) -> list[dict[str, str]]:
    """Validate stored parameters as Prefect does when a deployment's run begins; return how they look then."""
    command = [sys.executable, "-c", LOAD, json.dumps(deployments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines()[-len(deployments) :]]


def test_a_deployment_gets_its_settings_back() -> None:
    deployments = [
        (f"{FLOWS / 'curate.py'}:curate", CURATE),
        ("learnable.flows.curate.curate", CURATE),
        ("learnable.flows.curate.curate", SIMULATED),
        ("learnable.flows.curate.curate", CurateSettings(engine=SERVER)),
        ("learnable.flows.curate.curate", CurateSettings(engine=RaySettings({"max_model_len": 512}, "auto", 4))),
        (f"{FLOWS / 'refresh.py'}:refresh", REFRESH),
        (f"{FLOWS / 'finetune.py'}:finetune", TRAIN),
        (f"{FLOWS / 'loop.py'}:loop", LoopSettings(TRAIN, rounds=2)),
    ]
    found = load([(entrypoint, {"settings": asdict(settings)}) for entrypoint, settings in deployments])
    assert [parameters["settings"] for parameters in found] == [repr(settings) for _, settings in deployments]


def test_a_deployment_of_the_version_before_means_what_it_meant() -> None:
    flows = {name: name.split(":")[0] for name in STORED}
    found = load([(f"{FLOWS / flow}.py:{flow}", STORED[name]) for name, flow in flows.items()])
    meant = [{key: repr(value) for key, value in MEANT[name].items()} for name in STORED]
    assert found == meant


@pytest.mark.parametrize(
    ("engine", "message"),
    [
        ({"name": "vllm", "base_urls": ["http://one/v1"]}, "--base-url is for --engine server, not vllm"),
        ({"base_urls": ["http://one/v1"]}, "--base-url is for --engine server, not vllm"),
        ({"name": "server", "ray_address": "auto"}, "--ray-address is for --engine ray, not server"),
    ],
)
def test_an_address_of_another_engine_is_not_dropped(engine: Mapping[str, Any], message: str) -> None:
    with pytest.raises(LearnableError, match=message):
        with_current_names(CurateSettings, {"engine": engine})


def test_a_field_keeps_its_earlier_name_at_every_depth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RENAMED, PromptSettings, {"most": "limit"})
    stored = {"store": "s", "prompts": {"most": 3, "families": ["a"]}}
    assert with_current_names(CurateSettings, stored) == {"store": "s", "prompts": {"limit": 3, "families": ["a"]}}
    assert with_current_names(CurateSettings, CURATE) is CURATE
