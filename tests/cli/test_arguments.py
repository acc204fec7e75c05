"""From flags to settings: the defaults are those of the settings, and each engine gets its own flags."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Literal

import pytest
import typer

from learnable.cli.app import app
from learnable.cli.arguments import EngineArguments, count_workers
from learnable.cli.flags import Flag, Given, flags_of
from learnable.data.errors import LearnableError, UnknownNameError
from learnable.data.settings import Setting
from learnable.flows.settings import CurateSettings, RefreshSettings
from learnable.flows.settings.evaluation import EvalSettings
from learnable.flows.settings.loop import LoopSettings
from learnable.rollouts.registry import EngineSettings
from learnable.rollouts.settings import RaySettings, ServerSettings, SimulatedSettings, VLLMSettings
from learnable.train.settings import TrainSettings
from tests.support.flags import read_flags

CURATED = ("--curated", "c")
TRAIN = TrainSettings(curated="c", output="")
STARTED = {
    "find": ("launch.run_curation", (), CurateSettings()),
    "refresh": ("launch.run_refresh", (*CURATED, "--policy", "p"), RefreshSettings(curated="c", policy="p")),
    "eval": ("evaluating.pipeline.run_evaluation", CURATED, EvalSettings(curated="c")),
    "train": ("launch.run_training", CURATED, TRAIN),
    "loop": ("launch.run_loop", CURATED, LoopSettings(replace(TRAIN, held_out="pool"))),
}


@pytest.mark.parametrize("command", STARTED)
def test_without_flags_settings_are_as_they_are_without_values(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    started, flags, usual = STARTED[command]
    seen: list[object] = []

    def note(settings: object, *_: object, **__: object) -> None:
        seen.append(settings)
        raise LearnableError("that is enough")

    monkeypatch.setattr(f"learnable.flows.{started}", note)
    with pytest.raises(SystemExit):
        app([command, *flags, *(() if command == "train" else ("--workers", "1"))])
    assert seen == [usual]


@pytest.mark.parametrize(
    ("flags", "settings"),
    [
        (
            "--engine-arg max_num_seqs=4 --engine-arg dtype=float32",
            VLLMSettings({"max_num_seqs": 4, "dtype": "float32"}),
        ),
        ("--engine simulated --engine-arg tokens=20", SimulatedSettings({"tokens": 20})),
        ("--engine ray --ray-address auto --replicas 8", RaySettings({}, "auto", 8)),
        (
            "--engine server --base-url http://a/v1 --concurrency 2 --engine-patience 9",
            ServerSettings(("http://a/v1",), concurrency=2, patience=9.0),
        ),
    ],
)
def test_each_engine_gets_its_own_flags(flags: str, settings: EngineSettings) -> None:
    assert read_flags(EngineArguments, *flags.split()).settings() == settings


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("--engine vlm", "unknown engine 'vlm': did you mean 'vllm'"),
        ("--engine server", "`engine` server needs an address"),
        ("--base-url http://a/v1", "--base-url is for --engine server, not vllm"),
        ("--ray-address auto", "--ray-address is for --engine ray, not vllm"),
        ("--replicas 0", "`replicas` 0 is out of range: give 1 or more"),
        ("--engine ray --concurrency 0", "`concurrency` 0 is out of range"),
        ("--request-timeout 0", "`request_timeout` 0 is out of range: give more than 0"),
        ("--engine-arg dtype", "--engine-arg 'dtype' is not NAME=VALUE"),
    ],
)
def test_a_flag_that_cannot_work_is_named_whatever_the_engine(flags: str, message: str) -> None:
    with pytest.raises(LearnableError, match=message):
        read_flags(EngineArguments, *flags.split()).settings()


def test_an_engine_is_refused_as_a_name() -> None:
    with pytest.raises(UnknownNameError):
        read_flags(EngineArguments, "--engine", "").settings()


def test_one_process_scores_for_four_cores() -> None:
    assert count_workers(None) == max(1, (os.cpu_count() or 1) // 4)
    assert (count_workers(0), count_workers(3)) == (0, 3)


@dataclass(frozen=True, slots=True)
class Baked:
    """Settings of every kind that a flag can have."""

    name: Annotated[str, Setting("What it is called.")]
    shape: Annotated[Literal["round", "square"], Setting("Its shape.", flag="--form -f")] = "round"
    minutes: Annotated[
        int | None, Setting("In the oven.", "When", above=0, at_most=90, usual="as long as it takes")
    ] = None
    layers: Annotated[tuple[str, ...], Setting("From below.")] = ()
    extras: Annotated[Mapping[str, object], Setting("Others.", flag="--extra")] = field(default_factory=dict)
    sweet: Annotated[bool, Setting("With sugar.")] = True
    secret: Annotated[int, Setting("No flag has it.", flag=None)] = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Flags of settings, beside one of its own."""

    needed: Annotated[str, typer.Option()]
    count: Annotated[int, typer.Option()] = 3
    baked: Annotated[Given, flags_of(Baked, "What")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unset:
    """Flags of settings that something else fills in."""

    baked: Annotated[Given, flags_of(Baked, "What", unset=True, minutes=Flag(flag="--oven"))]


def test_settings_become_flags_and_come_back(capsys: pytest.CaptureFixture[str]) -> None:
    flags = "--needed x --name cake -f square --minutes 30 --layers a --layers b --extra n=1 --extra m=two --no-sweet"
    group = read_flags(Group, *flags.split())
    assert (group.needed, group.count) == ("x", 3)
    extras = {"n": 1, "m": "two"}
    assert Baked(**group.baked.read()) == Baked("cake", "square", 30, ("a", "b"), extras, sweet=False)
    assert Baked(**read_flags(Group, "--needed", "x", "--name", "y").baked.read()) == Baked("y")


def test_unset_flags_give_what_was_typed_alone() -> None:
    assert read_flags(Unset).baked.read() == {}
    assert read_flags(Unset, "--oven", "7", "--sweet").baked.read() == {"minutes": 7, "sweet": True}


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--minutes", "0"), "^`minutes` 0 is out of range: give more than 0 and at most 90$"),
        (("--form", "flat"), "^`shape` 'flat' is not known: choose one of round, square$"),
        (("--extra", "n"), "^--extra 'n' is not NAME=VALUE$"),
    ],
)
def test_a_flag_is_checked_by_its_setting(flags: tuple[str, ...], message: str) -> None:
    group = read_flags(Group, "--needed", "x", "--name", "y", *flags)
    with pytest.raises(LearnableError, match=message):
        group.baked.read()


def test_help_says_what_is_usual(capsys: pytest.CaptureFixture[str]) -> None:
    for kind in (Group, Unset):
        with pytest.raises(IndexError):  # the command is not run
            read_flags(kind, "--help")
    help_text = " ".join(capsys.readouterr().out.split())
    assert "In the oven. (default: as long as it takes)" in help_text
    assert "With sugar. (default: yes)" in help_text


def test_a_name_that_is_no_setting_s_is_refused_at_once() -> None:
    with pytest.raises(KeyError):
        flags_of(Baked, minuets=Flag(help="Minutes."))
