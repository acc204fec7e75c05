"""What a curation and a refresh depend on, as plain data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal, get_args

from learnable.data.band import Band
from learnable.data.dialogue.thinking import find_tags
from learnable.data.errors import LearnableError
from learnable.data.records import Sampling, Truncated
from learnable.data.settings import Setting, check_settings
from learnable.data.sources.files.locations import folder_name, local_path, plain_name
from learnable.data.sources.gym.location import is_gym, read_location
from learnable.filters.decisions.presets import Preset
from learnable.filters.stopping.budget import WANTED, SamplingBudget
from learnable.rollouts.registry import EngineSettings
from learnable.rollouts.settings import VLLMSettings
from learnable.train.settings import Predict, TrustedVerifiers

BUILTIN_LIMIT = 512  # the built-in generators never end
PROMPTS, POLICY, DECIDED, OUTPUT = "Which prompts", "Which policy", "What is kept", "Where it goes"  # in `--help`
ChatMode = Literal["auto", "on", "off"]
Tracker = Literal["none", "tensorboard", "trackio", "wandb", "mlflow"]
TRACKERS: tuple[Tracker, ...] = get_args(Tracker)
Workers = Annotated[
    int, Setting("Processes that score, here or on each node.", OUTPUT, usual="one for four cores", at_least=0)
]
HERE, RAY = "here", "ray"
ScoreOn = Annotated[
    str,
    Setting(
        "Where verifiers run: here; ray, on the nodes of the engine's cluster, or that of RAY_ADDRESS; or the address "
        "of a Ray cluster, auto or HOST:PORT.",
        OUTPUT,
    ),
]
VerifierTimeout = Annotated[
    float | None,
    Setting(
        "Seconds that scoring one completion may take.", OUTPUT, usual="the verifier's own", above=0, below=math.inf
    ),
]
Wait = Annotated[bool, Setting("Wait for another run that writes the store, or stop.", OUTPUT)]
VerifyPolicy = Annotated[bool, Setting("Hash every byte of its weights, however large they are.", POLICY)]


@dataclass(frozen=True, slots=True)
class ChatSettings:
    """Whether prompts that are text go to the policy as a user's turn, and what the system says before that.

    A chat that begins with words of the system keeps them. Raises `LearnableError` for settings that cannot work.
    """

    mode: Annotated[
        ChatMode,
        Setting(
            "Text prompts as a user's turn: on, off, or auto, where the policy has a chat template.", flag="--chat"
        ),
    ] = "auto"
    system_prompt: Annotated[str, Setting("What the system says before the user's turn: the text, or @FILE.")] = ""

    def __post_init__(self) -> None:
        check_settings(self)
        if self.mode == "off" and self.system_prompt:
            raise LearnableError("`system_prompt` is a turn of a chat: leave out `mode` off")


@dataclass(frozen=True, slots=True)
class PromptSettings:
    """Which prompts to look at: built-in forms and families, or what is at a `location`.

    `trusted` are verifiers of users' own, beside `verifier`, that rows may name. `near_duplicates` is None for exact
    repeats only, an empty `wording` natural where prompts are chats, and plain elsewhere. Raises `LearnableError` for
    settings that cannot work.
    """

    forms: Annotated[
        tuple[str, ...],
        Setting("A form, such as sonnet or Addition, or all poem forms; repeatable.", flag="--form"),
    ] = ()
    families: Annotated[
        tuple[str, ...],
        Setting("A family, such as poetry; repeatable, adds to --form.", flag="--family"),
    ] = ()
    forms_file: Annotated[
        str | None, Setting("A TOML file of poem forms of your own (docs/reference/poem-keys.md).", flag="--forms")
    ] = None
    location: Annotated[
        str | None,
        Setting(
            "A .jsonl, .json, .csv, .tsv or .parquet file, also with .gz; a folder of them, or one that "
            "Dataset.save_to_disk wrote; a hub id, also of one part: org/name:part; or reasoning-gym:NAME, with knobs "
            "as in reasoning-gym:chain_sum?num_terms=4&level=2, where * in the name stands for any.",
            flag="--prompts",
        ),
    ] = None
    prompt_column: Annotated[
        str,
        Setting(
            "Column of --prompts that holds the prompt; a dot reaches into an object or its JSON: extra.question. "
            "Well-known data sets need none of these three (docs/reference/layouts.md)."
        ),
    ] = "prompt"
    prompt_template: Annotated[
        str,
        Setting(
            'Prompt of several columns of --prompts, as "{Body} {Question}"; lists are shown as lettered options, and '
            "\\n is a new line."
        ),
    ] = ""
    answer_column: Annotated[
        str | None,
        Setting("Column of --prompts that holds the right answer, such as reward_model.ground_truth."),
    ] = None
    verifier: Annotated[
        str | None,
        Setting(
            "Judge of rows that name none: a name, yours as FILE.py:OBJECT, or trl:NAME. Repeatable: the others are of "
            "your own that rows name, for a file's word alone imports none."
        ),
    ] = None
    trusted: tuple[str, ...] = ()
    spec: Annotated[
        Mapping[str, object],
        Setting('A spec for every prompt, JSON or @FILE, as {"extract": "boxed"}; what a prompt says comes first.'),
    ] = field(default_factory=dict)
    dataset_split: Annotated[
        str,
        Setting(
            "Split to read of a data set, or list to read of a .json file with several.",
            flag="--dataset-split --split",
        ),
    ] = "train"
    split_by: Annotated[
        str | None,
        Setting(
            "Column of --prompts that says which rows are one problem, held out or trained on together.",
            usual="rows with the same cases, or the same question",
        ),
    ] = None
    skip_bad_rows: Annotated[bool, Setting("Leave out rows that are no prompt, and count them.")] = False
    limit: Annotated[
        int | None,
        Setting("Most prompts to look at, drawn by --seed.", at_least=1, usual="512 generated, all of a file's"),
    ] = None
    decontaminate: Annotated[
        tuple[str, ...],
        Setting("An evaluation set, FILE[:COLUMN] or hub id, that no prompt may repeat; repeatable."),
    ] = ()
    near_duplicates: Annotated[
        float | None,
        Setting(
            "Overlap that makes two prompts duplicates.",
            above=0,
            at_most=1,
            usual="0.9 for --prompts, else exact ones",
        ),
    ] = None
    knobs: Annotated[
        Mapping[str, str],
        Setting("A generator's knob, such as arithmetic.largest=50; repeatable.", flag="--knob"),
    ] = field(default_factory=dict)
    wording: Annotated[
        str,
        Setting("Words of the built-in prompts: plain, or natural, as for chats; or a TOML file of yours."),
    ] = ""

    def __post_init__(self) -> None:
        check_settings(self)
        if self.location is not None and not self.location.strip():
            raise LearnableError("`location` '' names nothing: give a file, a folder or a hub id, or leave it out")
        if self.location and (self.forms or self.families or self.forms_file):
            raise LearnableError("`location` brings its own prompts: leave out `forms`, `forms_file` and `families`")
        if self.prompt_template and (self.prompt_column != "prompt" or not self.location):
            raise LearnableError(
                "`prompt_template` makes prompts of columns of `location`: give those, and leave out `prompt_column`"
            )
        if self.split_by and not self.location:
            raise LearnableError(f"`split_by` {self.split_by} names a column of `location`: give those too")
        if self.wording and self.location:
            raise LearnableError("`location` brings its own words: leave out `wording`")
        if self.location and is_gym(self.location):
            self._check_gym(self.location)

    def _check_gym(self, location: str) -> None:
        read_location(location)
        for name in ("prompt_template", "answer_column", "verifier", "split_by"):
            if getattr(self, name):
                raise LearnableError(f"`location` {location} brings its own answers and judge: leave out `{name}`")
        if self.knobs:
            name = next(iter(self.knobs))
            raise LearnableError(
                f"`knobs` {name} is of the built-in families: write {location.partition('?')[0]}?{name}=..."
            )

    @property
    def is_generated(self) -> bool:
        """Whether generators draw the prompts by the seed, more of them than anybody looks at: no file has them."""
        return not self.location or is_gym(self.location)

    @property
    def name(self) -> str:
        """A name for the curated set: the file's, or the forms and families."""
        if self.location:
            return folder_name(plain_name(local_path(self.location)))
        own = [Path(self.forms_file).stem] if self.forms_file and not self.forms else []
        return folder_name("-".join([*self.forms, *own, *self.families]).lower(), otherwise="builtin")


@dataclass(frozen=True, slots=True)
class CurateSettings:
    """Everything that a curation run depends on. Raises `LearnableError` for settings that cannot work.

    Where `keep_unasked`, the set has those prompts too that were not sampled, as rejects with what is expected of them.
    """

    prompts: PromptSettings = field(default_factory=PromptSettings)
    chat: ChatSettings = field(default_factory=ChatSettings)
    policy: Annotated[
        str | None,
        Setting("Model folder, LoRA adapter's folder, or hub id.", POLICY, usual="the bundled policy"),
    ] = None
    engine: EngineSettings = field(default_factory=VLLMSettings)
    group_size: Annotated[
        int,
        Setting(
            "Completions a prompt that training draws (TRL: num_generations).",
            DECIDED,
            at_least=2,
            advice="16 is usual: a group of one has no spread",
        ),
    ] = 16
    budget: SamplingBudget = field(default_factory=SamplingBudget)
    preset: Preset = field(default_factory=lambda: Preset("band"))
    sampling: Sampling = field(default_factory=Sampling)
    truncated: Annotated[Truncated, Setting("Completions that ran out of tokens: count, or exclude.", DECIDED)] = (
        "count"
    )
    test_share: Annotated[float, Setting("Share of problems held out from training.", DECIDED, at_least=0, below=1)] = (
        0.2
    )
    seed: Annotated[int, Setting("Seed of prompts, rollouts and splits.", DECIDED)] = 0
    store: Annotated[str, Setting("Folder or URL (s3://...) of rollouts, scores and curated sets.", OUTPUT)] = (
        "learnable-store"
    )
    name: Annotated[str, Setting("Name of the curated set.", OUTPUT, usual="from what was asked")] = ""
    workers: Workers = 1
    score_on: ScoreOn = HERE
    verifier_timeout: VerifierTimeout = None
    wait: Wait = True
    verify_policy: VerifyPolicy = False
    predict: Annotated[
        Predict,
        Setting(
            "Predict pass rates from text and columns before paying for rollouts: auto, where it helps, or off.",
            WANTED,
        ),
    ] = "auto"
    predict_from: Annotated[
        tuple[str, ...],
        Setting(
            "Columns to predict from, as level,llama8b_solve_rate.",
            WANTED,
            usual="those of numbers and of few values",
        ),
    ] = ()
    keep_unasked: bool = False
    report_to: Annotated[
        Tracker, Setting("A tracker for rounds, spend and yield; tensorboard writes to `runs/`.", OUTPUT)
    ] = "none"

    def __post_init__(self) -> None:
        check_settings(self)
        if self.predict_from and self.predict == "off":
            raise LearnableError(f"`predict_from` {','.join(self.predict_from)} is for `predict` auto: give that")
        if self.score_on not in (HERE, RAY, "auto") and ":" not in self.score_on:
            raise LearnableError(f"`score_on` {self.score_on!r} is not known: give here, ray, auto or HOST:PORT")
        if self.score_on != HERE and not self.workers:
            raise LearnableError("`workers` 0 scores in this process: give 1 or more, or leave out `score_on`")
        self._check_sampling()
        self._check_simulation()
        if not self.set_name.replace("-", "").replace("_", "").replace(".", "").isalnum() or self.set_name.startswith(
            "."
        ):
            raise LearnableError(f"`name` {self.set_name!r} is no folder name: use letters, digits, '-', '_' and '.'")

    def _check_sampling(self) -> None:
        sampling = self.sampling
        self._check_bounds(sampling)
        if not all(sampling.stop):
            raise LearnableError("`stop` '' would end every completion at once: give some text")
        find_tags(sampling.think_tags, None)

    def _check_bounds(self, sampling: Sampling) -> None:
        check_settings(sampling)

    def _check_simulation(self) -> None:
        """Raise `LearnableError` where a simulation would answer real prompts, or a model simulated ones."""
        prompts, simulates = self.prompts, self.engine.name == "simulated"
        named = {name.casefold() for name in (*prompts.families, *prompts.forms)}
        if simulates and not prompts.location and named != {"simulated"}:
            raise LearnableError("`engine` simulated answers simulated prompts alone: add `families` simulated")
        if not self.engine.asks_model and self.policy is not None:
            raise LearnableError(f"`engine` {self.engine.name} asks no model: leave out `policy` {self.policy}")
        if not simulates and "simulated" in named:
            raise LearnableError(
                f"no model can answer simulated prompts: use `engine` simulated, not {self.engine.name}"
            )

    @property
    def band(self) -> Band:
        """What is kept, prompt by prompt."""
        return self.preset.band

    @property
    def set_name(self) -> str:
        """The curated set's name: the one given, or that of the prompts."""
        return self.name or self.prompts.name


@dataclass(frozen=True, slots=True)
class RefreshSettings:
    """Everything that a refresh depends on. Raises `LearnableError` for settings that cannot work."""

    curated: Annotated[str, Setting("A curated set: its folder, or a version's.", PROMPTS)]
    policy: Annotated[str | None, Setting("Model folder or hub id of the policy as it is now.", POLICY)] = None
    verifiers: TrustedVerifiers = ()
    engine: EngineSettings = field(default_factory=VLLMSettings)
    anchors: Annotated[
        int,
        Setting(
            "Prompts to ask first, of every family, in and out of the band.",
            DECIDED,
            at_least=1,
            advice="100 is usual",
        ),
    ] = 100
    store: Annotated[str | None, Setting("Folder or URL of the store.", OUTPUT, usual="the one the set lies in")] = None
    workers: Workers = 1
    score_on: ScoreOn = HERE
    verifier_timeout: VerifierTimeout = None
    wait: Wait = True
    verify_policy: VerifyPolicy = False

    def __post_init__(self) -> None:
        check_settings(self)
        if self.policy is None and self.engine.loads_policies:
            raise LearnableError("`policy` is missing: name the policy that the set is to be refreshed for")
