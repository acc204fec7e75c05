"""A new engine is one file, such as `parrot_for_tests.py`, and one line in `ENGINES`: nothing else knows the parrot."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import pytest
from prefect.exceptions import ParameterTypeError

from learnable.cli.arguments import EngineArguments
from learnable.cli.flags import flags_of_any
from learnable.data.errors import LearnableError
from learnable.data.settings import Setting
from learnable.filters.stopping.budget import SamplingBudget
from learnable.flows.curate import curate
from learnable.flows.curation.pipeline import run_curation
from learnable.flows.settings import CurateSettings, PromptSettings
from learnable.rollouts.registry import ENGINES, EngineSettings
from learnable.rollouts.settings import VLLMSettings
from tests.flows.parrot_for_tests import QUESTION, ParrotSettings
from tests.support.flags import read_flags
from tests.support.paths import ROOT

PLACE = "tests.flows.parrot_for_tests:ParrotSettings"
LINE = f"ENGINES['parrot'] = '{PLACE}'"


@dataclass(frozen=True, slots=True)
class CrowSettings(ParrotSettings):
    """Another bird, which means something else by the same setting."""

    silences: Annotated[int, Setting("crow: minutes.")] = 1


@pytest.fixture(autouse=True)
def parrot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ENGINES, "parrot", PLACE)


def write_question(folder: Path) -> str:
    row = {"prompt": QUESTION, "answer": "Polly", "verifier": "choice"}
    (folder / "questions.jsonl").write_text(json.dumps(row))
    return str(folder / "questions.jsonl")


def test_it_curates(tmp_path: Path) -> None:
    settings = CurateSettings(
        prompts=PromptSettings(location=write_question(tmp_path)),
        engine=ParrotSettings("Polly"),
        store=str(tmp_path / "store"),
        budget=SamplingBudget("fixed"),
        workers=0,
        test_share=0,
    )
    report = run_curation(settings)
    assert (report.engine, report.totals.kept, report.totals.rollouts) == ("parrot", 1, settings.group_size)


def test_it_has_flags() -> None:
    flags = ("--engine", "parrot", "--phrase", "Polly", "--silences", "3")
    assert read_flags(EngineArguments, *flags).settings() == ParrotSettings("Polly", 3)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("--engine parrot", "^--engine parrot needs --phrase: parrot: what it says.$"),
        ("--engine vllm --phrase Polly", "^--phrase is for --engine parrot, not vllm$"),
        ("--engine parrot --phrase Polly --replicas 2", "^--replicas is for --engine ray, not parrot$"),
        (
            "--engine parrot --phrase Polly --engine-arg n=1",
            "^--engine-arg is for --engine vllm or ray or simulated, not",
        ),
        ("--engine parrot --phrase Polly --silences -1", "^`silences` -1 is out of range: give 0 or more$"),
        ("--engine parot --phrase Polly", "unknown engine 'parot': did you mean 'parrot'"),
    ],
)
def test_its_flags_are_checked_as_all_are(flags: str, message: str) -> None:
    with pytest.raises(LearnableError, match=message):
        read_flags(EngineArguments, *flags.split()).settings()


def test_a_deployment_gets_it_back() -> None:
    def validate(engine: Mapping[str, Any]) -> EngineSettings:
        found: CurateSettings = curate.validate_parameters({"settings": {"engine": engine}})["settings"]
        return found.engine

    assert validate(asdict(ParrotSettings("Polly", 3))) == ParrotSettings("Polly", 3)
    with pytest.raises(ParameterTypeError, match="engine"):
        validate({"name": "parrot", "phrase": "Polly", "base_urls": ["http://one/v1"]})


def test_engines_that_mean_different_things_by_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="'silences' of CrowSettings is another class's too, and declared otherwise"):
        flags_of_any([VLLMSettings, ParrotSettings, CrowSettings])


@pytest.mark.slow
def test_the_command_line_follows_the_line(tmp_path: Path) -> None:
    begin = f"from learnable.rollouts.registry import ENGINES; {LINE}; from learnable.cli.app import app; app()"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join((str(ROOT), os.environ.get("PYTHONPATH", "")))}

    def find(*arguments: str) -> str:
        command = [sys.executable, "-c", begin, "find", *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-2000:]
        return done.stdout

    assert "server, ray, simulated or parrot (has feathers)" in " ".join(find("--help").replace("│", "").split())
    quick = ("--no-prefect", "--workers", "0", "--sampling", "fixed", "--test-share", "0", "--json")
    report = json.loads(find("--prompts", write_question(tmp_path), "--engine", "parrot", "--phrase", "Polly", *quick))
    assert (report["engine"], report["totals"]["kept"]) == ("parrot", 1)
