"""Flows as a deployment loads them: from their files, with parameters that went through JSON."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict

import pytest

from learnable.flows.refreshing.pool import RefreshSettings
from learnable.flows.settings import CurateSettings, PromptSettings
from learnable.train.settings import TrainSettings
from tests.paths_for_tests import ROOT

FLOWS = ROOT / "flows"
LOAD = """
import json, sys
from prefect.flows import load_flow_from_entrypoint

flow = load_flow_from_entrypoint(sys.argv[1])
parameters = flow.validate_parameters(json.loads(sys.argv[2]))
print(json.dumps({name: repr(value) for name, value in parameters.items()}))
"""
CURATE = CurateSettings(prompts=PromptSettings(families=("arithmetic",), limit=8), store="s", name="n")
REFRESH = RefreshSettings(curated="c", policy="p", anchors=12)
TRAIN = TrainSettings(curated="c", output="o", families=("arithmetic",))


@pytest.mark.parametrize(
    ("entrypoint", "settings"),
    [
        (f"{FLOWS / 'curate.py'}:curate", CURATE),
        ("learnable.flows.curate.curate", CURATE),
        (f"{FLOWS / 'refresh.py'}:refresh", REFRESH),
        (f"{FLOWS / 'finetune.py'}:finetune", TRAIN),
    ],
)
def test_a_deployment_gets_its_settings_back(
    entrypoint: str, settings: CurateSettings | RefreshSettings | TrainSettings
) -> None:
    parameters = json.dumps({"settings": asdict(settings)})
    command = [sys.executable, "-c", LOAD, entrypoint, parameters]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout.splitlines()[-1])["settings"] == repr(settings)
