"""The flags that `find` alone has, in groups, and the settings that each group makes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from learnable.cli.arguments import name_verifier, read_object, read_text_or_file
from learnable.cli.flags import Flag, Given, flags_of
from learnable.cli.options import (
    VerifierPass,
    VerifierRange,
    complete_family,
    complete_form,
    decision_option,
    goal_option,
    prompt_option,
)
from learnable.data.band import Band
from learnable.data.errors import LearnableError
from learnable.data.records import JsonObject, Sampling
from learnable.data.sources.gym.location import is_gym
from learnable.filters.decisions.presets import Preset, find_preset
from learnable.flows.settings import ChatSettings, PromptSettings
from learnable.flows.settings.curation import DECIDED, POLICY, PROMPTS


def read_names(typed: Sequence[str] | None) -> tuple[str, ...]:
    """Return the names of a flag that is given several times."""
    return tuple(typed or ())


def read_template(typed: str) -> str:
    """Return a template with a new line for each backslash and n, as shells pass it on."""
    return typed.replace("\\n", "\n")


def read_spec(typed: str) -> JsonObject:
    """Return the spec of every prompt. Raises `LearnableError` for what is none."""
    return read_object(typed, "--spec")


def read_tags(typed: str) -> str:
    """Return the tags around thoughts, empty for those of the chat template."""
    return "" if typed == "auto" else typed


def read_system_prompt(typed: str) -> str:
    """Return what the system says. Raises `LearnableError` where its file cannot be read."""
    return read_text_or_file(typed, "--system-prompt")


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptArguments:
    """Which prompts."""

    given: Annotated[
        Given,
        flags_of(
            PromptSettings,
            PROMPTS,
            forms=Flag(complete=complete_form),
            families=Flag(complete=complete_family),
            prompt_template=Flag(read=read_template),
            verifier=Flag(kind=list[str], read=read_names),
            spec=Flag(kind=str, default="{}", read=read_spec),
        ),
    ]
    verifier_range: VerifierRange = None
    verifier_pass: VerifierPass = None
    curriculum: Annotated[
        str | None,
        prompt_option(
            help="Stages of a family's knobs: counting, arithmetic, or a TOML or JSON file (docs/how-to/train.md)."
        ),
    ] = None
    stage: Annotated[
        str | None, prompt_option(help="Stage of --curriculum whose knobs are used, by its name or number.")
    ] = None

    def settings(self) -> PromptSettings:
        """Return the settings. Raises `LearnableError` for what cannot work."""
        typed = self._stage(self.given.read())
        own = typed["verifier"]
        typed["verifier"] = self._judge(own)
        if typed["near_duplicates"] is None and typed["location"] and not is_gym(typed["location"]):
            from learnable.filters.duplicates.near_duplicates import NEAR_OVERLAP

            typed["near_duplicates"] = NEAR_OVERLAP  # prompts of a file alone have one where none is given
        return PromptSettings(**typed, trusted=tuple(name_verifier(name, None, None) for name in own[1:]))

    def _stage(self, typed: JsonObject) -> JsonObject:
        """Return what was typed with the family and the knobs of the stage; those of flags stand above them."""
        families, knobs = typed["families"], typed["knobs"]
        if self.curriculum is None:
            if self.stage is not None:
                raise LearnableError(f"--stage {self.stage} is a stage of a curriculum: give --curriculum too")
            return typed
        from learnable.verifiers.families.curriculum import read_curriculum

        curriculum = read_curriculum(self.curriculum)
        if typed["location"]:
            raise LearnableError("--prompts brings its own prompts: leave out --curriculum")
        if self.stage is None:
            names = ", ".join(stage.name for stage in curriculum.stages)
            raise LearnableError(f"--curriculum {self.curriculum} has the stages {names}: give one as --stage")
        if not curriculum.family:
            raise LearnableError(
                f"--curriculum {self.curriculum} names no family to generate: it is for learnable train"
            )
        stage = curriculum.find_stage(self.stage)
        staged = {f"{curriculum.family}.{name}": str(value) for name, value in stage.knobs.items()}
        given = {name.rpartition(".")[2] for name in knobs if name.rpartition(".")[0] in ("", curriculum.family)}
        staged = {name: value for name, value in staged.items() if name.rpartition(".")[2] not in given}
        families = families if families or typed["forms"] else (curriculum.family,)
        return typed | {"families": families, "knobs": staged | knobs}

    def _judge(self, typed: tuple[str, ...]) -> str | None:
        """Return the name of the judge, with what is said of its rewards."""
        if typed:
            return name_verifier(typed[0], self.verifier_range, self.verifier_pass)
        if self.verifier_range is not None or self.verifier_pass is not None:
            raise LearnableError(
                "--verifier-range and --verifier-pass are for the judge that --verifier names: give that too, or say "
                "it in the rows, as in my_rewards.py:score?range=0..2&pass=1.5"
            )
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyArguments:
    """How a policy's completions are drawn."""

    drawn: Annotated[
        Given,
        flags_of(
            Sampling,
            POLICY,
            think_tags=Flag(default="auto", read=read_tags),
        ),
    ]
    turn: Annotated[
        Given,
        flags_of(ChatSettings, POLICY, system_prompt=Flag(read=read_system_prompt)),
    ]

    def sampling(self) -> Sampling:
        """Return how completions are drawn. Raises `LearnableError` for what cannot work."""
        return Sampling(**self.drawn.read())

    def chat(self) -> ChatSettings:
        """Return whether prompts are chats. Raises `LearnableError` for what cannot work."""
        return ChatSettings(**self.turn.read())


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalArguments:
    """What is done in place of a run."""

    dry_run: Annotated[
        bool, goal_option("--dry-run", help="Sample the pilot alone, and say what --want would cost.")
    ] = False
    show: Annotated[
        int | None,
        goal_option(help="Print what the first so many drawn rows became, prompt, spec and answer, and stop there."),
    ] = None
    gpu_hour_price: Annotated[
        float | None, goal_option(help="Price of an hour of this machine, for the plan's cost.")
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PresetArguments:
    """What is kept: a preset, and what flags change of it."""

    preset: Annotated[str, decision_option(help="band, hard-biased, max-learnability, or a TOML file of your own.")] = (
        "band"
    )
    band: Annotated[
        tuple[float, float] | None,
        decision_option(help="Keep prompts whose mean lies in here. (default: the preset's, 0.2 0.8)"),
    ] = None
    inside: Annotated[Given, flags_of(Band, DECIDED, unset=True)]
    chosen: Annotated[Given, flags_of(Preset, DECIDED, unset=True)]

    def chosen_preset(self) -> Preset:
        """Return the preset with what flags change of it. Raises `LearnableError` for what cannot work."""
        inside = self.inside.read()
        band = {"band": self.band, "min_std": inside.get("min_std"), "by": inside.get("signal")}
        return find_preset(self.preset).override(**band, **self.chosen.read())
