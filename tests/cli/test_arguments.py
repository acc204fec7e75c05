"""From flags to settings: the defaults are those of the settings, and each engine gets its own flags."""

from __future__ import annotations

import os
from dataclasses import dataclass
from inspect import signature
from typing import Annotated

import pytest
import typer

from learnable.cli.arguments import EngineArguments, RunArguments, count_workers
from learnable.cli.commands.find import curate_settings
from learnable.cli.commands.find_arguments import (
    DecisionArguments,
    GoalArguments,
    OutputArguments,
    PolicyArguments,
    PromptArguments,
)
from learnable.cli.commands.refresh import RefreshArguments
from learnable.cli.commands.train import TrainArguments
from learnable.cli.options import with_flags
from learnable.data.errors import LearnableError, UnknownNameError
from learnable.flows.settings import CurateSettings, RefreshSettings
from learnable.flows.settings.engines import (
    EngineSettings,
    RaySettings,
    ServerSettings,
    SimulatedSettings,
    VLLMSettings,
)
from learnable.train.settings import TrainSettings


def test_without_flags_settings_are_as_they_are_without_values() -> None:
    found = curate_settings(
        PromptArguments(),
        PolicyArguments(),
        EngineArguments(),
        GoalArguments(),
        DecisionArguments(),
        OutputArguments(),
        RunArguments(workers=1),
    )
    assert found == CurateSettings()
    assert TrainArguments(curated="c").settings() == TrainSettings(curated="c", output="")
    refreshed = RefreshArguments(curated="c", policy="p").settings(EngineArguments(), None, RunArguments(workers=1))
    assert refreshed == RefreshSettings(curated="c", policy="p")


@pytest.mark.parametrize(
    ("arguments", "settings"),
    [
        (
            EngineArguments(engine_arg=["max_num_seqs=4", "dtype=float32"]),
            VLLMSettings({"max_num_seqs": 4, "dtype": "float32"}),
        ),
        (EngineArguments(engine="simulated", engine_arg=["tokens=20"]), SimulatedSettings({"tokens": 20})),
        (EngineArguments(engine="ray", ray_address="auto", replicas=8), RaySettings({}, "auto", 8)),
        (
            EngineArguments(engine="server", base_url=["http://a/v1"], concurrency=2, engine_patience=9.0),
            ServerSettings(("http://a/v1",), concurrency=2, patience=9.0),
        ),
    ],
)
def test_each_engine_gets_its_own_flags(arguments: EngineArguments, settings: EngineSettings) -> None:
    assert arguments.settings() == settings


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (EngineArguments(engine="vlm"), "unknown engine 'vlm': did you mean 'vllm'"),
        (EngineArguments(engine="server"), "--engine server needs an address"),
        (EngineArguments(base_url=["http://a/v1"]), "--base-url is for --engine server, not vllm"),
        (EngineArguments(ray_address="auto"), "--ray-address is for --engine ray, not vllm"),
        (EngineArguments(replicas=0), "--replicas 0 leaves nothing running"),
        (EngineArguments(engine="ray", concurrency=0), "--concurrency 0 leaves nothing running"),
        (EngineArguments(request_timeout=0.0), "--request-timeout 0 leaves no time"),
        (EngineArguments(engine_arg=["dtype"]), "--engine-arg 'dtype' is not NAME=VALUE"),
    ],
)
def test_a_flag_that_cannot_work_is_named_whatever_the_engine(arguments: EngineArguments, message: str) -> None:
    with pytest.raises(LearnableError, match=message):
        arguments.settings()


def test_an_engine_is_refused_as_a_name() -> None:
    with pytest.raises(UnknownNameError):
        EngineArguments(engine="").settings()


def test_one_process_scores_for_four_cores() -> None:
    assert count_workers(None) == max(1, (os.cpu_count() or 1) // 4)
    assert (count_workers(0), count_workers(3)) == (0, 3)


def test_a_group_becomes_flags_and_comes_back_whole(capsys: pytest.CaptureFixture[str]) -> None:
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Group:
        needed: Annotated[str, typer.Option()]
        count: Annotated[int, typer.Option()] = 3

    def command(*, group: Group, loud: Annotated[bool, typer.Option("--loud")] = False) -> None:
        print(group, loud)

    command.__annotations__["group"] = Group  # a local class, which its name alone would not find
    flagged = with_flags(command)
    app = typer.Typer()
    app.command()(flagged)
    assert list(signature(flagged).parameters) == ["needed", "count", "loud"]
    with pytest.raises(SystemExit):
        app(["--needed", "x", "--loud"])
    assert capsys.readouterr().out.endswith("Group(needed='x', count=3) True\n")
