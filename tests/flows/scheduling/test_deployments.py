"""Flows as a deployment loads them: from their files, with parameters that went through JSON."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import pytest
import yaml
from prefect.exceptions import ParameterTypeError
from prefect.utilities.callables import parameter_schema

from learnable.flows.curate import curate
from learnable.flows.finetune import finetune
from learnable.flows.loop import loop
from learnable.flows.refresh import refresh
from learnable.flows.scheduling.events import PUBLISHED, set_resource
from learnable.flows.settings import CurateSettings, PromptSettings, RefreshSettings
from learnable.flows.settings.loop import LoopSettings
from learnable.rollouts.settings import RaySettings, ServerSettings, SimulatedSettings
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


@pytest.mark.parametrize(
    "engine",
    [
        {"name": "vllm", "base_urls": ["http://one/v1"]},
        {"name": "server", "base_urls": ["http://one/v1"], "ray_address": "auto"},
        {"name": "vlm"},
    ],
)
def test_an_engine_that_is_not_known_or_an_address_that_it_does_not_use_is_refused(engine: Mapping[str, Any]) -> None:
    with pytest.raises(ParameterTypeError, match="engine"):
        curate.validate_parameters({"settings": {"engine": engine}})


@pytest.mark.parametrize("deployed", [curate, finetune, loop, refresh], ids=lambda deployed: deployed.name)
def test_the_form_speaks_of_fields_and_not_of_flags_or_code(deployed: Any) -> None:
    classes = parameter_schema(deployed).definitions
    assert classes
    fields = {f"{name}.{field}": about for name, one in classes.items() for field, about in one["properties"].items()}
    for name, about in {**fields, **classes}.items():
        said = about.get("description", "")
        assert not re.search(r"--(?!pool|form)[a-z]|epeatable|Raises|<", said), f"{name}: {said}"
    if deployed is curate:
        assert fields["PromptSettings.answer_column"]["description"].startswith("Column of `location` that holds")
        assert fields["CurateSettings.policy"]["description"].endswith("None: the bundled policy.")
        assert fields["Tries.retries"]["default"] == 2


def test_the_file_for_prefect_deploy_names_flows_and_settings_that_work() -> None:
    written = yaml.safe_load((ROOT / "prefect.yaml").read_text(encoding="utf-8"))["deployments"]
    found = load([(one["entrypoint"], one["parameters"]) for one in written])
    assert [parameters["settings"].partition("(")[0] for parameters in found] == [
        "CurateSettings",
        "TrainSettings",
        "RefreshSettings",
        "LoopSettings",
    ]
    (trigger,) = [trigger for one in written for trigger in one.get("triggers", ())]
    assert trigger["expect"] == [PUBLISHED]
    assert trigger["match"] == {"prefect.resource.id": set_resource("nightly")}
    assert written[0]["parameters"]["settings"]["name"] == "nightly"
