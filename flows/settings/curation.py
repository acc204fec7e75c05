"""What a curation and a refresh depend on, as plain data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from learnable.data.dialogue.thinking import find_tags
from learnable.data.errors import LearnableError, UnknownNameError
from learnable.data.records import Sampling, Truncated
from learnable.data.sources.files.locations import folder_name, local_path, plain_name
from learnable.data.sources.gym.location import is_gym, read_location
from learnable.filters.band import Band
from learnable.filters.decisions.presets import Preset
from learnable.filters.stopping.budget import SamplingBudget
from learnable.flows.settings.engines import EngineSettings, VLLMSettings

BUILTIN_LIMIT = 512  # the built-in generators never end
CHAT_MODES = ("auto", "on", "off")
PREDICT_MODES = ("auto", "off")


@dataclass(frozen=True, slots=True)
class ChatSettings:
    """Whether prompts that are text go to the policy as a user's turn, and what the system says before that.

    `mode` is on, off, or auto: on where the policy has a chat template. A chat that begins with words of the system
    keeps them. Raises `LearnableError` for settings that cannot work.
    """

    mode: str = "auto"
    system_prompt: str = ""

    def __post_init__(self) -> None:
        if self.mode not in CHAT_MODES:
            raise LearnableError(f"--chat {self.mode!r} is not known: use auto, on or off")
        if self.mode == "off" and self.system_prompt:
            raise LearnableError("--system-prompt is a turn of a chat: leave out --chat off")


@dataclass(frozen=True, slots=True)
class PromptSettings:
    """Which prompts to look at: built-in forms and families, or what is at a `location`.

    That is a file, a folder, a hub id, or data sets of reasoning-gym (see `read_location`). `forms_file` declares poem
    forms of one's own. The columns `prompt_column` and `answer_column`, the judge `verifier` and `dataset_split` say
    how `location` is read; `prompt_template` makes prompts of several columns, whose names it has in braces. `spec` is
    for the judge of every prompt: what its own spec does not say. `split_by` is its column that says which rows are one
    problem, so that none is on both sides of the split; None for what their cases or questions say. `trusted` are
    verifiers of users' own, beside `verifier`, that rows may name. `skip_bad_rows` leaves out its rows that are no
    prompt, which otherwise end the run. `limit` is the most prompts to look at. `decontaminate` names evaluation sets
    that no prompt may repeat; `near_duplicates` is the overlap, more than 0 and at most 1, from which on a prompt
    repeats another one, None for exact repeats only. `knobs` set the generators of the built-in families, as
    `arithmetic.largest`. `wording` says in which words those ask: `plain`, `natural` or a file of one's own; empty is
    natural where prompts are chats, and plain elsewhere.

    Raises `LearnableError` for settings that cannot work.
    """

    forms: tuple[str, ...] = ()
    families: tuple[str, ...] = ()
    forms_file: str | None = None
    location: str | None = None
    prompt_column: str = "prompt"
    prompt_template: str = ""
    answer_column: str | None = None
    verifier: str | None = None
    trusted: tuple[str, ...] = ()
    spec: Mapping[str, object] = field(default_factory=dict)
    dataset_split: str = "train"
    split_by: str | None = None
    skip_bad_rows: bool = False
    limit: int | None = None
    decontaminate: tuple[str, ...] = ()
    near_duplicates: float | None = None
    knobs: Mapping[str, str] = field(default_factory=dict)
    wording: str = ""

    def __post_init__(self) -> None:
        if self.location is not None and not self.location.strip():
            raise LearnableError("--prompts '' names nothing: give a file, a folder or a hub id, or leave it out")
        if self.location and (self.forms or self.families or self.forms_file):
            raise LearnableError("--prompts brings its own prompts: leave out --form, --forms and --family")
        if self.prompt_template and (self.prompt_column != "prompt" or not self.location):
            raise LearnableError(
                "--prompt-template makes prompts of columns of --prompts: give those, and leave out --prompt-column"
            )
        if self.split_by and not self.location:
            raise LearnableError(f"--split-by {self.split_by} names a column of --prompts: give those too")
        if self.wording and self.location:
            raise LearnableError("--prompts brings its own words: leave out --wording")
        if self.limit is not None and self.limit < 1:
            raise LearnableError(f"--limit {self.limit} leaves no prompt: give 1 or more")
        if self.location and is_gym(self.location):
            self._check_gym(self.location)

    def _check_gym(self, location: str) -> None:
        read_location(location)
        for flag in ("prompt_template", "answer_column", "verifier", "split_by"):
            if getattr(self, flag):
                raise LearnableError(
                    f"--prompts {location} brings its own answers and judge: leave out --{flag.replace('_', '-')}"
                )
        if self.knobs:
            name = next(iter(self.knobs))
            raise LearnableError(
                f"--knob {name} is of the built-in families: write {location.partition('?')[0]}?{name}=..."
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

    `policy` is a model folder or hub id, None for the bundled one. `group_size` is the number of completions of one
    prompt in training; `test_share` the share of problems that is held out from it. `store` is a folder or URL, and
    `name` the curated set's, by default one from its prompts. `workers` processes score; 0 scores in this one.
    `verifier_timeout` is the time limit of one completion's score, in seconds, instead of the verifier's own. `wait`
    says whether to wait for another run that writes the same store. `predict` is auto where pass rates are predicted
    before rollouts are paid for, as far as that has skill, or off; `predict_from` names the columns of the prompts'
    rows to predict from beside their text, all that hold numbers or few values by default. Where `keep_unasked`, the
    set has those prompts too that were not sampled, as rejects with what is expected of them. `verify_policy` makes the
    policy's id of every byte of its weights, however large they are.
    """

    prompts: PromptSettings = field(default_factory=PromptSettings)
    chat: ChatSettings = field(default_factory=ChatSettings)
    policy: str | None = None
    engine: EngineSettings = field(default_factory=VLLMSettings)
    group_size: int = 16
    budget: SamplingBudget = field(default_factory=SamplingBudget)
    preset: Preset = field(default_factory=lambda: Preset("band"))
    sampling: Sampling = field(default_factory=Sampling)
    truncated: Truncated = "count"
    test_share: float = 0.2
    seed: int = 0
    store: str = "learnable-store"
    name: str = ""
    workers: int = 1
    verifier_timeout: float | None = None
    wait: bool = True
    verify_policy: bool = False
    predict: str = "auto"
    predict_from: tuple[str, ...] = ()
    keep_unasked: bool = False

    def __post_init__(self) -> None:
        if self.predict not in PREDICT_MODES:
            raise UnknownNameError("--predict", self.predict, PREDICT_MODES)
        if self.predict_from and self.predict == "off":
            raise LearnableError(f"--predict-from {','.join(self.predict_from)} is for --predict auto: give that")
        if self.truncated not in ("count", "exclude"):
            raise LearnableError(f"--truncated {self.truncated!r} is not known: use count or exclude")
        self._check_group()
        if not 0 <= self.test_share < 1:
            raise LearnableError(f"--test-share {self.test_share:g} is out of range: give 0 or more and less than 1")
        if self.verifier_timeout is not None and not 0 < self.verifier_timeout < math.inf:
            raise LearnableError(f"--verifier-timeout {self.verifier_timeout:g} is no time: give seconds, more than 0")
        self._check_sampling()
        self._check_simulation()
        if not self.set_name.replace("-", "").replace("_", "").replace(".", "").isalnum() or self.set_name.startswith(
            "."
        ):
            raise LearnableError(f"--name {self.set_name!r} is no folder name: use letters, digits, '-', '_' and '.'")

    def _check_group(self) -> None:
        temperature = self.sampling.temperature
        if self.group_size < 2:
            raise LearnableError(
                f"--group-size {self.group_size} has no spread: a group needs 2 completions or more, 16 is usual"
            )
        if not 0 < temperature < math.inf:
            raise LearnableError(
                f"--temperature {temperature:g} is out of range: give more than 0, such as 1 (greedy completions of "
                "one prompt are all alike)"
            )

    def _check_sampling(self) -> None:
        top_p = self.sampling.top_p
        if not 0 < top_p <= 1:
            raise LearnableError(
                f"--top-p {top_p:g} is out of range: give more than 0 and at most 1, which cuts nothing"
            )
        if self.sampling.max_tokens < 1:
            raise LearnableError(f"--max-tokens {self.sampling.max_tokens} leaves no room: give 1 or more")
        self._check_cuts()

    def _check_cuts(self) -> None:
        sampling = self.sampling
        if sampling.top_k < 0:
            raise LearnableError(f"--top-k {sampling.top_k} is no number of tokens: give 1 or more, or 0 for all")
        if not 0 <= sampling.min_p < 1:
            raise LearnableError(f"--min-p {sampling.min_p:g} is out of range: give 0, which cuts nothing, or up to 1")
        if not 0 < sampling.repetition_penalty < math.inf:
            raise LearnableError(
                f"--repetition-penalty {sampling.repetition_penalty:g} is out of range: give more than 0, 1 for none"
            )
        if not all(sampling.stop):
            raise LearnableError("--stop '' would end every completion at once: give some text")
        find_tags(sampling.think_tags, None)

    def _check_simulation(self) -> None:
        """Raise `LearnableError` where a simulation would answer real prompts, or a model simulated ones."""
        prompts, simulates = self.prompts, self.engine.name == "simulated"
        named = {name.casefold() for name in (*prompts.families, *prompts.forms)}
        if simulates and not prompts.location and named != {"simulated"}:
            raise LearnableError("--engine simulated answers simulated prompts alone: add --family simulated")
        if simulates and self.policy is not None:
            raise LearnableError(f"--engine simulated asks no model: leave out --policy {self.policy}")
        if not simulates and "simulated" in named:
            raise LearnableError(
                f"no model can answer simulated prompts: use --engine simulated, not {self.engine.name}"
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
    """Everything that a refresh depends on. Raises `LearnableError` for settings that cannot work.

    `curated` is a set's folder or a version's. `verifiers` are those of users' own that it may name. `anchors` prompts
    of each family are sampled again first. `store` is where rollouts and the new version go, by default the store that
    the set lies in. The rest is as in `CurateSettings`.
    """

    curated: str
    policy: str | None = None
    verifiers: tuple[str, ...] = ()
    engine: EngineSettings = field(default_factory=VLLMSettings)
    anchors: int = 100
    store: str | None = None
    workers: int = 1
    verifier_timeout: float | None = None
    wait: bool = True
    verify_policy: bool = False

    def __post_init__(self) -> None:
        if self.anchors < 1:
            raise LearnableError(f"--anchors {self.anchors} tell nothing: give 1 or more, 100 is usual")
        if self.policy is None and self.engine.name != "server":
            raise LearnableError("--policy is missing: name the policy that the set is to be refreshed for")
