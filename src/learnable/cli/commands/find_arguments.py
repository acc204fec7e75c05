"""The flags that `find` alone has, in groups, and the settings that each group makes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, cast

from learnable.cli.arguments import (
    DEFAULTS,
    name_verifier,
    read_literal,
    read_object,
    read_pairs,
    read_text_or_file,
)
from learnable.cli.options import (
    FormsFile,
    VerifierPass,
    VerifierRange,
    complete_family,
    complete_form,
    decision_option,
    goal_option,
    output_option,
    policy_option,
    prompt_option,
)
from learnable.data.errors import LearnableError
from learnable.data.records import Sampling, Truncated
from learnable.data.sources.gym.location import is_gym
from learnable.filters.decisions.presets import Preset, find_preset
from learnable.filters.stopping.budget import SamplingBudget, SamplingMode
from learnable.flows.settings import ChatSettings, PromptSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptArguments:
    """Which prompts."""

    form: Annotated[
        list[str] | None,
        prompt_option(
            help="A form, such as sonnet or Addition, or all poem forms; repeatable.", autocompletion=complete_form
        ),
    ] = None
    family: Annotated[
        list[str] | None,
        prompt_option(help="A family, such as poetry; repeatable, adds to --form.", autocompletion=complete_family),
    ] = None
    forms_file: FormsFile = DEFAULTS.prompts.forms_file
    prompts: Annotated[
        str | None,
        prompt_option(
            help="A .jsonl, .json, .csv, .tsv or .parquet file, also with .gz; a folder of them, or one that "
            "Dataset.save_to_disk wrote; a hub id, also of one part: org/name:part; or reasoning-gym:NAME, with knobs "
            "as in reasoning-gym:chain_sum?num_terms=4&level=2, where * in the name stands for any."
        ),
    ] = DEFAULTS.prompts.location
    prompt_column: Annotated[
        str,
        prompt_option(
            help="Column of --prompts that holds the prompt; a dot reaches into an object or its JSON: extra.question. "
            "Well-known data sets need none of these three (docs/reference/layouts.md)."
        ),
    ] = DEFAULTS.prompts.prompt_column
    prompt_template: Annotated[
        str,
        prompt_option(
            help='Prompt of several columns of --prompts, as "{Body} {Question}"; lists are shown as lettered options, '
            "and \\n is a new line."
        ),
    ] = DEFAULTS.prompts.prompt_template
    answer_column: Annotated[
        str | None,
        prompt_option(help="Column of --prompts that holds the right answer, such as reward_model.ground_truth."),
    ] = DEFAULTS.prompts.answer_column
    dataset_split: Annotated[
        str,
        prompt_option(
            "--dataset-split",
            "--split",
            help="Split to read of a data set, or list to read of a .json file with several.",
        ),
    ] = DEFAULTS.prompts.dataset_split
    split_by: Annotated[
        str | None,
        prompt_option(
            help="Column of --prompts that says which rows are one problem, held out or trained on together. "
            "(default: rows with the same cases, or the same question)"
        ),
    ] = DEFAULTS.prompts.split_by
    skip_bad_rows: Annotated[
        bool, prompt_option("--skip-bad-rows", help="Leave out rows that are no prompt, and count them.")
    ] = DEFAULTS.prompts.skip_bad_rows
    verifier: Annotated[
        list[str] | None,
        prompt_option(
            help="Judge of rows that name none: a name, yours as FILE.py:OBJECT, or trl:NAME. Repeatable: the others "
            "are of your own that rows name, for a file's word alone imports none."
        ),
    ] = None
    verifier_range: VerifierRange = None
    verifier_pass: VerifierPass = None
    spec: Annotated[
        str,
        prompt_option(
            help='A spec for every prompt, JSON or @FILE, as {"extract": "boxed"}; what a prompt says comes first.'
        ),
    ] = "{}"
    knob: Annotated[
        list[str] | None, prompt_option(help="A generator's knob, such as arithmetic.largest=50; repeatable.")
    ] = None
    curriculum: Annotated[
        str | None,
        prompt_option(
            help="Stages of a family's knobs: counting, arithmetic, or a TOML or JSON file (docs/how-to/train.md)."
        ),
    ] = None
    stage: Annotated[
        str | None, prompt_option(help="Stage of --curriculum whose knobs are used, by its name or number.")
    ] = None
    wording: Annotated[
        str,
        prompt_option(help="Words of the built-in prompts: plain, or natural, as for chats; or a TOML file of yours."),
    ] = DEFAULTS.prompts.wording
    limit: Annotated[
        int | None,
        prompt_option(help="Most prompts to look at, drawn by --seed. (default: 512 generated, all of a file's)"),
    ] = DEFAULTS.prompts.limit
    decontaminate: Annotated[
        list[str] | None,
        prompt_option(help="An evaluation set, FILE[:COLUMN] or hub id, that no prompt may repeat; repeatable."),
    ] = None
    near_duplicates: Annotated[
        float | None,
        prompt_option(help="Overlap that makes two prompts duplicates. (default: 0.9 for --prompts, else exact ones)"),
    ] = DEFAULTS.prompts.near_duplicates

    def settings(self) -> PromptSettings:
        """Return the settings. Raises `LearnableError` for what cannot work."""
        families, knobs = self._staged()
        return PromptSettings(
            forms=tuple(self.form or ()),
            families=families,
            forms_file=self.forms_file,
            location=self.prompts,
            prompt_column=self.prompt_column,
            prompt_template=self.prompt_template.replace("\\n", "\n"),
            answer_column=self.answer_column,
            verifier=self._judge(),
            trusted=tuple(name_verifier(name, None, None) for name in (self.verifier or ())[1:]),
            spec=read_object(self.spec, "--spec"),
            dataset_split=self.dataset_split,
            split_by=self.split_by,
            skip_bad_rows=self.skip_bad_rows,
            limit=self.limit,
            decontaminate=tuple(self.decontaminate or ()),
            knobs=knobs,
            wording=self.wording,
            near_duplicates=self._overlap(),
        )

    def _staged(self) -> tuple[tuple[str, ...], dict[str, str]]:
        """Return the families, and their knobs: those of the stage, and above them those of flags."""
        families, knobs = tuple(self.family or ()), dict(read_pairs(self.knob, "--knob"))
        if self.curriculum is None:
            if self.stage is not None:
                raise LearnableError(f"--stage {self.stage} is a stage of a curriculum: give --curriculum too")
            return families, knobs
        from learnable.verifiers.families.curriculum import read_curriculum

        curriculum = read_curriculum(self.curriculum)
        if self.prompts:
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
        return families if families or self.form else (curriculum.family,), staged | knobs

    def _judge(self) -> str | None:
        """Return the name of the judge, with what is said of its rewards."""
        if self.verifier:
            return name_verifier(self.verifier[0], self.verifier_range, self.verifier_pass)
        if self.verifier_range is not None or self.verifier_pass is not None:
            raise LearnableError(
                "--verifier-range and --verifier-pass are for the judge that --verifier names: give that too, or say "
                "it in the rows, as in my_rewards.py:score?range=0..2&pass=1.5"
            )
        return None

    def _overlap(self) -> float | None:
        """Return the overlap that makes prompts duplicates; where none is given, prompts of a file alone have one."""
        near = self.near_duplicates
        if near is None and self.prompts and not is_gym(self.prompts):
            from learnable.filters.duplicates.near_duplicates import NEAR

            return NEAR
        if near is not None and not 0 < near <= 1:
            raise LearnableError(
                f"--near-duplicates {near:g} is out of range: give an overlap, more than 0 and at most 1"
            )
        return near


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyArguments:
    """Which policy, and how its completions are drawn."""

    policy: Annotated[
        str | None, policy_option(help="Model folder, LoRA adapter's folder, or hub id. (default: the bundled policy)")
    ] = None
    verify_policy: Annotated[
        bool, policy_option("--verify-policy", help="Hash every byte of its weights, however large they are.")
    ] = DEFAULTS.verify_policy
    temperature: Annotated[float, policy_option(help="Sampling temperature; use the one you train with.")] = (
        DEFAULTS.sampling.temperature
    )
    top_p: Annotated[float, policy_option(help="Nucleus sampling.")] = DEFAULTS.sampling.top_p
    top_k: Annotated[int, policy_option(help="Draw from so many of the likeliest tokens; 0 for all.")] = (
        DEFAULTS.sampling.top_k
    )
    min_p: Annotated[
        float, policy_option(help="Drop tokens less likely than this share of the likeliest one; 0 for none.")
    ] = DEFAULTS.sampling.min_p
    repetition_penalty: Annotated[float, policy_option(help="Above 1, tokens come back less often.")] = (
        DEFAULTS.sampling.repetition_penalty
    )
    stop: Annotated[list[str] | None, policy_option(help="A text that ends a completion; repeatable.")] = None
    max_tokens: Annotated[int, policy_option(help="Most tokens of a completion.")] = DEFAULTS.sampling.max_tokens
    chat: Annotated[
        str,
        policy_option(help="Text prompts as a user's turn: on, off, or auto, where the policy has a chat template."),
    ] = DEFAULTS.chat.mode
    system_prompt: Annotated[
        str, policy_option(help="What the system says before the user's turn: the text, or @FILE.")
    ] = DEFAULTS.chat.system_prompt
    template_arg: Annotated[
        list[str] | None, policy_option(help="For its chat template, such as enable_thinking=false; repeatable.")
    ] = None
    think_tags: Annotated[
        str,
        policy_option(help="Around its thoughts, as '<think> </think>'; none, or auto: those of its chat template."),
    ] = "auto"

    def sampling(self) -> Sampling:
        """Return how completions are drawn. Raises `LearnableError` for a template argument that is none."""
        told = read_pairs(self.template_arg, "--template-arg")
        return Sampling(
            temperature=self.temperature,
            top_p=self.top_p,
            top_k=self.top_k,
            max_tokens=self.max_tokens,
            min_p=self.min_p,
            repetition_penalty=self.repetition_penalty,
            stop=tuple(self.stop or ()),
            template_args={name: read_literal(value) for name, value in told.items()},
            think_tags="" if self.think_tags == "auto" else self.think_tags,
        )

    def chat_settings(self) -> ChatSettings:
        """Return whether prompts are chats. Raises `LearnableError` for what cannot work."""
        return ChatSettings(self.chat, read_text_or_file(self.system_prompt, "--system-prompt"))


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalArguments:
    """How many prompts are wanted, and how sure of them."""

    want: Annotated[int | None, goal_option(help="Stop when this many prompts are kept.")] = DEFAULTS.budget.want
    precision: Annotated[
        float | None,
        goal_option(
            help="Share of the kept prompts that are truly in the band. (default: as 32 completions would give)"
        ),
    ] = DEFAULTS.budget.precision
    predict: Annotated[
        str,
        goal_option(
            help="Predict pass rates from text and columns before paying for rollouts: auto, where it helps, or off."
        ),
    ] = DEFAULTS.predict
    predict_from: Annotated[
        list[str] | None,
        goal_option(
            help="Columns to predict from, as level,llama8b_solve_rate. (default: those of numbers and of few values)"
        ),
    ] = None
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
class DecisionArguments:
    """What is kept, and how many rollouts the decision may take."""

    sampling: Annotated[
        str,
        decision_option(
            "--sampling", help="optimal: stop when another rollout is not worth it. fixed: --group-size for all."
        ),
    ] = DEFAULTS.budget.sampling
    group_size: Annotated[
        int, decision_option(help="Completions a prompt that training draws (TRL: num_generations).")
    ] = DEFAULTS.group_size
    max_group: Annotated[int, decision_option(help="optimal: most completions of one prompt.")] = (
        DEFAULTS.budget.max_group
    )
    pilot_prompts: Annotated[
        int, decision_option(help="optimal: prompts of each family that are sampled before any decision.")
    ] = DEFAULTS.budget.pilot_prompts
    pilot_rollouts: Annotated[int, decision_option(help="optimal: completions of each of those.")] = (
        DEFAULTS.budget.pilot_rollouts
    )
    top_up: Annotated[
        bool, decision_option("--top-up", help="optimal: give kept prompts --group-size completions.")
    ] = DEFAULTS.budget.top_up
    retest: Annotated[
        float, decision_option(help="optimal: share of rejected prompts that a later run samples again.")
    ] = DEFAULTS.budget.retest
    preset: Annotated[str, decision_option(help="band, hard-biased, max-learnability, or a TOML file of your own.")] = (
        DEFAULTS.preset.name
    )
    band: Annotated[
        tuple[float, float] | None,
        decision_option(help="Keep prompts whose mean lies in here. (default: the preset's, 0.2 0.8)"),
    ] = None
    min_std: Annotated[
        float | None,
        decision_option(help="Keep prompts whose group spreads at least this much. (default: the preset's, 0.1)"),
    ] = None
    by: Annotated[
        str | None,
        decision_option("--by", "--signal", help="Mean of what: reward, or pass. (default: the preset's, reward)"),
    ] = None
    quota: Annotated[float | None, decision_option(help="Largest share of the set that one family may take.")] = None
    floor: Annotated[int | None, decision_option(help="Prompts of each family that the set should have at least.")] = (
        None
    )
    top: Annotated[int | None, decision_option(help="Keep only this many prompts, those with the most to teach.")] = (
        None
    )
    truncated: Annotated[str, decision_option(help="Completions that ran out of tokens: count, or exclude.")] = (
        DEFAULTS.truncated
    )
    test_share: Annotated[float, decision_option(help="Share of problems held out from training.")] = (
        DEFAULTS.test_share
    )
    seed: Annotated[int, decision_option(help="Seed of prompts, rollouts and splits.")] = DEFAULTS.seed

    def budget(self, goal: GoalArguments) -> SamplingBudget:
        """Return how many rollouts prompts get. Raises `LearnableError` for what cannot work."""
        return SamplingBudget(
            sampling=cast(SamplingMode, self.sampling),  # refused there if it is no mode
            max_group=self.max_group,
            pilot_prompts=self.pilot_prompts,
            pilot_rollouts=self.pilot_rollouts,
            precision=goal.precision,
            want=goal.want,
            top_up=self.top_up,
            retest=self.retest,
        )

    def chosen_preset(self) -> Preset:
        """Return the preset with what flags change of it. Raises `LearnableError` for what cannot work."""
        return find_preset(self.preset).override(
            band=self.band, min_std=self.min_std, by=self.by, top=self.top, quota=self.quota, floor=self.floor
        )

    @property
    def truncation(self) -> Truncated:
        """What completions that ran out of tokens do; the settings refuse what is no such word."""
        return cast(Truncated, self.truncated)


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputArguments:
    """Where results go."""

    store: Annotated[str, output_option(help="Folder or URL (s3://...) of rollouts, scores and curated sets.")] = (
        DEFAULTS.store
    )
    name: Annotated[str, output_option(help="Name of the curated set. (default: from what was asked)")] = DEFAULTS.name
