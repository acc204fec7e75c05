"""What one training run depends on, and what a curated set's manifest fills in."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from math import lcm
from pathlib import Path
from typing import Any, Literal, Self

from learnable.data.curated.manifest import Manifest
from learnable.data.errors import LearnableError, nearest_names
from learnable.data.records import JsonObject, Sampling

Method = Literal["grpo", "sft", "dpo"]
Signal = Literal["reward", "pass"]
Part = Literal["train", "control", "reserve", "reviewed", "pool"]
Sampler = Literal["static", "live"]
Stored = Literal["first", "off"]
Predict = Literal["auto", "off"]
CurriculumBy = Literal["step", "success"]
OnAlarm = Literal["warn", "stop", "checkpoint"]
OnDry = Literal["warn", "stop"]
HeldOutName = Literal["kept", "pool"]
METHODS = ("grpo", "sft", "dpo")
SIGNALS = ("reward", "pass")
PARTS = ("train", "control", "reserve", "reviewed", "pool")
SAMPLERS = ("static", "live")
STORED = ("first", "off")
PREDICT = ("auto", "off")
CURRICULUM_BY = ("step", "success")
ON_ALARM = ("warn", "stop", "checkpoint")
ON_DRY = ("warn", "stop")
HELD_OUT: tuple[HeldOutName, ...] = ("kept", "pool")
STORED_PARTS = {"sft": "demonstrations", "dpo": "preferences"}  # what methods that generate nothing read of a set
USUAL_BATCH = 128  # completions a step
USUAL_BETA, DPO_BETA = 0.04, 0.1
DPO_MARGIN = 0.2  # preset_files/dpo.toml has the reason
FEWEST_PROMPTS = 2  # a step, where the batch is fitted to the set: of one prompt alone a step follows its noise
UNUSUAL = (
    "min_p",
    "repetition_penalty",
    "stop",
    "chat_template_kwargs",
    "think_tags",
    "sampler",
    "stored",
    "predict",
    "curriculum",
    "curriculum_by",
    "reach",
    "trl",
    "reward_range",
    "scale_rewards",
    "allow_silent_reward",
    "monitor",
    "on_alarm",
    "on_dry",
    "held_out",
    "measured_on",
    "engine_options",
    "verifiers",
)  # in files only where they are given
SCALES = ("group", "batch", "none")
LOSS_TYPES = ("grpo", "bnpo", "dr_grpo", "dapo", "cispo", "sapo", "luspo", "vespo")


@dataclass(frozen=True, slots=True)
class TrainSettings:
    """Everything a training run depends on, as plain data: it travels to fresh processes as JSON.

    Args:
        curated: folder of a curated set, or of one of its versions.
        output: folder for checkpoints, metrics, curve and report; empty for the next `runs/NAME-N`.
        part: the part of the set whose prompts are trained on. `reviewed` is `train` with as a tenth of the prompts
            some that the policy had mastered, lest it forget them. `control`, random prompts of the same pool, shows
            what the curation is worth; so does `pool`, what was kept and rejected alike, with the static sampler, as
            trained without a curation. None takes `pool` for the live sampler, where the set has what was rejected,
            and else `train` (`train/preflight/drawing.py`).
        families: train on, and measure, the prompts of these families alone; empty for all.
        method: GRPO on the prompts; supervised fine-tuning (SFT) on the set's demonstrations, to warm up for it; or
            direct preference optimisation (DPO) on its preferences, pairs of a better and a worse completion.
        policy: folder or hub id to train; None takes the policy that the set was curated for.
        verifiers: verifiers of users' own that the set may name: they are imported, and no others.
        steps: optimizer steps.
        num_generations: completions a prompt, the group size of GRPO.
        batch_size: completions a step over all processes, so `batch_size / num_generations` prompts under GRPO; pairs
            of them under DPO. None takes 128 completions, or as many as the part has prompts for, or fewer where more
            of the set's groups are expected to be usable than of its pool's (`train/preflight/batch.py`).
        micro_batch_size: completions, or pairs, in one forward and backward pass of one process; None takes all at
            once.
        learning_rate: None takes one that suits the policy's number of parameters.
        beta: weight of the KL term that pulls toward the policy as it was before training; under DPO how much a
            preference weighs against leaving that policy: the larger, the nearer it stays. None takes 0.04, under DPO
            0.1.
        no_kl: train without that term, whatever `beta` says.
        temperature, top_p, top_k, min_p, repetition_penalty, stop, max_completion_length: None takes the curated
            set's own sampling.
        chat_template_kwargs: what the policy's chat template is told; None takes the curated set's own.
        think_tags: those around the policy's thoughts; None takes the curated set's own.
        loss_type: one of TRL's losses.
        sampler: `static` visits each prompt once an epoch; `live` draws those whose groups are expected to disagree, as
            certificates and the run's own rewards tell (`train/live/`). None takes `live` for GRPO where no part is
            named and the set has what was rejected, and else `static`.
        stored: `first` begins with the rollouts that the set's store has of its prompts, by this policy and sampling,
            in groups of `num_generations`, until they are used up or stale (`train/stored/`); `off` generates all.
        predict: `auto` has the live sampler predict prompts without certificates from those that the run has asked
            (`train/live/predicted.py`); with `off` it knows none before it is drawn.
        curriculum: stages that the prompts are drawn by, of those that come with the library or a user's in a file
            (`verifiers/families/curriculum.py`); empty for none. In a stage the sampler draws as it always does.
        curriculum_by: what leads from stage to stage: the `step`, or the `success` of the stage's prompts.
        signal: train on graded rewards or on passed / not passed.
        reward_range: what TRL is given for rewards of 0 and 1, those between mapped linearly; None for 0 and 1.
        scale_rewards: by what TRL divides advantages: the std of the `group`, of the `batch`, or nothing (`none`); None
            for the group's.
        dpo_margin: by how much the rewards of a pair must differ for DPO to train on it; None takes 0.2.
        allow_silent_reward: train also where no rollout of the curation moved what rewards ask of a completion's form.
        lora_rank: rank of LoRA adapters; None trains every weight.
        held_out: which held-out prompts are measured: the `kept` ones, or those of the whole `pool`, where the rejected
            ones are reported apart too.
        measured_on: another set, whose held-out prompts are measured in place of the set's own; empty for its own.
        engine_options: what `vllm.LLM` is given for the evaluation, by its own names.
        eval_group_size: fresh completions a held-out prompt, before and after.
        eval_k: the k of pass@k.
        eval_limit: held-out prompts at most; None takes all.
        eval_steps: steps between looks at the held-out prompts during training; 0 for none.
        reach: shares of held-out completions that pass, of each of which the report says at which look it was first
            reached.
        save_steps: steps between checkpoints.
        monitor: a TOML file of rules that change the shipped ones and add to them (`train/monitor/`); empty for none.
        on_alarm: what an alarm of the monitor does: `warn`, `stop` the run where the rule's severity is that, or keep a
            `checkpoint` of the step in `alarms/`.
        on_dry: what the live sampler does with prompts of which the best have hardly any spread left: `warn` and go on,
            or `stop` the run where fewer than a quarter of the groups that it generated last had any, and call it
            done.
        use_vllm: let TRL sample with vLLM inside the training process; needs CUDA.
        num_processes: training processes, one a GPU, started by torchrun where there are several.
        trl: other settings of TRL's by its own names, checked against the installed version.
        report_to: TRL's name of a tracker, such as `trackio`.
        resume: go on from the last checkpoint in `output`.
    """

    curated: str
    output: str
    part: Part | None = None
    families: tuple[str, ...] = ()
    method: Method = "grpo"
    policy: str | None = None
    verifiers: tuple[str, ...] = ()
    steps: int = 60
    num_generations: int = 16
    batch_size: int | None = None
    micro_batch_size: int | None = None
    learning_rate: float | None = None
    warmup_steps: int = 5
    beta: float | None = None
    no_kl: bool = False
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    max_completion_length: int | None = None
    min_p: float | None = None
    repetition_penalty: float | None = None
    stop: tuple[str, ...] | None = None
    chat_template_kwargs: Mapping[str, object] | None = None
    think_tags: str | None = None
    loss_type: str = "grpo"
    sampler: Sampler | None = None
    stored: Stored = "off"
    predict: Predict = "auto"
    curriculum: str = ""
    curriculum_by: CurriculumBy = "step"
    signal: Signal = "reward"
    reward_range: tuple[float, float] | None = None
    scale_rewards: str | None = None
    dpo_margin: float | None = None
    allow_silent_reward: bool = False
    lora_rank: int | None = None
    seed: int = 0
    evaluate: bool = True
    held_out: HeldOutName = "kept"
    measured_on: str = ""
    engine_options: Mapping[str, object] | None = None
    eval_group_size: int = 16
    eval_k: int = 8
    eval_limit: int | None = None
    eval_steps: int = 0
    reach: tuple[float, ...] = ()
    save_steps: int = 20
    monitor: str = ""
    on_alarm: OnAlarm = "warn"
    on_dry: OnDry = "warn"
    use_vllm: bool = False
    num_processes: int = 1
    trl: Mapping[str, object] = field(default_factory=dict)
    report_to: str = "none"
    resume: bool = False

    @property
    def step_size(self) -> int:
        """Completions, or pairs, in one optimizer step, the usual number where `batch_size` is not filled in yet."""
        return self.usual_batch if self.batch_size is None else self.batch_size

    @property
    def usual_batch(self) -> int:
        """What a step takes where nobody says: so many completions, or half as many pairs of them."""
        return USUAL_BATCH // 2 if self.method == "dpo" else USUAL_BATCH

    @property
    def completions_per_prompt(self) -> int:
        """A group's under GRPO, one of a demonstration, one pair."""
        return self.num_generations if self.method == "grpo" else 1

    @property
    def prompts_per_step(self) -> int:
        """Groups in one optimizer step, or demonstrations, or pairs."""
        return self.step_size // self.completions_per_prompt

    @property
    def fewest_prompts(self) -> int:
        """Prompts that a run needs: those of a step whose size was given, or the least that one is fitted to."""
        return FEWEST_PROMPTS if self.batch_size is None else self.prompts_per_step

    @property
    def rows_part(self) -> str:
        """The part of a curated set that is read: of `train`, SFT and DPO read completions."""
        return STORED_PARTS.get(self.method, self.named_part)

    @property
    def named_part(self) -> Part:
        """The part that is trained on, `train` where none is named yet."""
        return "train" if self.part is None else self.part

    @property
    def kl_weight(self) -> float:
        """The `beta` that TRL gets."""
        usual = DPO_BETA if self.method == "dpo" else USUAL_BETA
        return 0.0 if self.no_kl else usual if self.beta is None else self.beta

    @property
    def least_margin(self) -> float:
        """The `dpo_margin` that counts."""
        return DPO_MARGIN if self.dpo_margin is None else self.dpo_margin

    @property
    def has_sampler_state(self) -> bool:
        """Whether prompts are drawn by what the run has seen, so that its checkpoints have the sampler's state."""
        return self.sampler == "live" or bool(self.curriculum) or self.stored == "first"

    @property
    def folder(self) -> Path:
        """The output folder."""
        return Path(self.output)

    @property
    def sampling(self) -> Sampling:
        """How completions are drawn, in training and in the evaluation; unset values are the usual ones."""
        usual = Sampling()
        return Sampling(
            temperature=usual.temperature if self.temperature is None else self.temperature,
            top_p=usual.top_p if self.top_p is None else self.top_p,
            top_k=usual.top_k if self.top_k is None else self.top_k,
            max_tokens=usual.max_tokens if self.max_completion_length is None else self.max_completion_length,
            min_p=self.min_p or 0.0,
            repetition_penalty=1.0 if self.repetition_penalty is None else self.repetition_penalty,
            stop=self.stop or (),
            template_args=self.chat_template_kwargs or {},
            think_tags=self.think_tags or "",
        )

    def filled_from(self, manifest: Manifest) -> Self:
        """Return these settings with what is unset taken from a curated set's manifest, or the method's usual."""
        sampling = None if manifest.find_absent(("sampling",)) else manifest.sampling
        defaults: dict[str, Any] = {"policy": manifest.policy.name or None}
        defaults |= {"beta": DPO_BETA, "dpo_margin": DPO_MARGIN} if self.method == "dpo" else {"beta": USUAL_BETA}
        if sampling is not None:
            defaults |= {"temperature": sampling.temperature, "top_p": sampling.top_p, "top_k": sampling.top_k}
            defaults |= {"max_completion_length": sampling.max_tokens, "min_p": sampling.min_p or None}
            defaults |= {
                "repetition_penalty": None if sampling.repetition_penalty == 1 else sampling.repetition_penalty
            }
            defaults |= {"think_tags": sampling.think_tags or None}
            defaults |= {"stop": sampling.stop or None, "chat_template_kwargs": dict(sampling.template_args) or None}
        return replace(self, **{key: value for key, value in defaults.items() if getattr(self, key) is None})

    def fitted_to(self, prompts: int, share: float = 1.0) -> Self:
        """Return these settings with a batch size that so many prompts can fill, unless one was given.

        `share` of the usual number of prompts a step is enough, but never less than two.
        """
        if self.batch_size is not None:
            return self
        group = self.completions_per_prompt
        unit = lcm(group, (self.micro_batch_size or 1) * self.num_processes)
        most = min(self.usual_batch, prompts * group)
        enough = group * max(FEWEST_PROMPTS, round(self.usual_batch // group * share))
        return replace(self, batch_size=max(unit, min(most // unit, -(-enough // unit)) * unit))

    def as_json(self) -> JsonObject:
        """Return the settings as `write` writes them: those of `UNUSUAL` only where they are given."""
        plain = asdict(self) | {
            "families": list(self.families),
            "stop": list(self.stop or ()),
            "reach": list(self.reach),
            "verifiers": list(self.verifiers),
        }
        plain["reward_range"] = list(self.reward_range or ())
        if self.dpo_margin is None:  # 0 is given
            del plain["dpo_margin"]
        usual = {"sampler": "static", "stored": "off", "predict": "auto", "curriculum_by": "step"}
        usual |= {"on_alarm": "warn", "held_out": "kept", "on_dry": "warn"}
        return {
            name: value for name, value in plain.items() if name not in UNUSUAL or (value and value != usual.get(name))
        }

    def write(self, path: Path) -> None:
        """Write the settings as JSON."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(self.as_json(), indent=2) + "\n", encoding="utf-8")


def read_settings(path: Path | str) -> TrainSettings:
    """Read settings that `write` or a user wrote. Raises `LearnableError` for an unknown or missing key."""
    try:
        values = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise LearnableError(f"settings file {str(path)!r} cannot be read: {error.strerror}") from error
    except json.JSONDecodeError as error:
        raise LearnableError(f"settings file {str(path)!r} is not valid JSON: {error}") from error
    return make_settings(values, f"settings file {str(path)!r}")


def make_settings(values: JsonObject, where: str) -> TrainSettings:
    """Return settings from plain data, lists for tuples. Raises `LearnableError` for an unknown or missing key."""
    known = [one.name for one in fields(TrainSettings)]
    for key in values:
        if key not in known:
            near = nearest_names(key, known)
            hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}"
            raise LearnableError(f"{where}: key {key!r} is not known: {hint}")
    for key in ("curated", "output"):
        if key not in values:
            raise LearnableError(f"{where}: key {key!r} is missing: add it")
    tuples = {name: tuple(values.get(name, ())) for name in ("families", "reach", "verifiers")}
    tuples |= {name: tuple(values[name]) for name in ("stop", "reward_range") if values.get(name) is not None}
    return TrainSettings(**{**values, **tuples})


def usual_learning_rate(parameters: int, *, lora: bool) -> float:
    """Return a learning rate that suits this many trained parameters.

    1e-4 is what a model of a few million parameters stands (3e-4 overfits a hundred prompts); the same rate
    breaks a model of billions, for which 1e-6 is TRL's own default. Adapters stand about ten times that of
    full training.

    >>> usual_learning_rate(2_000_000, lora=False), usual_learning_rate(7_000_000_000, lora=True)
    (0.0001, 1e-05)
    """
    small = parameters < 50_000_000
    if lora:
        return 1e-3 if small else 1e-5
    return 1e-4 if small else 1e-6
