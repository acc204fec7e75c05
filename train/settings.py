"""What one training run depends on, and what a curated set's manifest fills in."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from math import inf, lcm
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, get_args

from learnable.data.band import Signal
from learnable.data.records import JsonObject, Sampling
from learnable.data.settings import Setting

if TYPE_CHECKING:
    from learnable.data.curated.manifest import Manifest

Method = Literal["grpo", "sft", "dpo"]
Part = Literal["train", "control", "reserve", "reviewed", "pool"]
Sampler = Literal["static", "live"]
Stored = Literal["first", "off"]
Predict = Literal["auto", "off"]
CurriculumBy = Literal["step", "success"]
OnAlarm = Literal["warn", "stop", "checkpoint"]
OnDry = Literal["warn", "stop"]
HeldOutName = Literal["kept", "pool"]
Scale = Literal["group", "batch", "none"]
LossType = Literal["grpo", "bnpo", "dr_grpo", "dapo", "cispo", "sapo", "luspo", "vespo"]
PARTS: tuple[Part, ...] = get_args(Part)
TRAINED_ON, MEASURED = "What is trained on what", "What is measured"  # headings of `--help`
OF_SET = "the curated set's"
USUAL_BATCH = 128  # completions a step
USUAL_BETA, DPO_BETA = 0.04, 0.1
DPO_MARGIN = 0.2  # preset_files/dpo.toml has the reason
FEWEST_PROMPTS = 2  # a step, where the batch is fitted to the set: of one prompt alone a step follows its noise
UNUSUAL = """
    min_p repetition_penalty stop chat_template_kwargs think_tags sampler stored predict curriculum curriculum_by
    reach trl reward_range scale_rewards allow_silent_reward monitor on_alarm on_dry held_out measured_on
    engine_options verifiers accelerate_config
""".split()  # in files only where they are given
TrustedVerifiers = Annotated[
    tuple[str, ...],
    Setting(
        "A verifier of your own that the set names, as FILE.py:OBJECT; repeatable. A set's own word imports none.",
        "Which prompts",
        flag="--verifier",
    ),
]


@dataclass(frozen=True, slots=True)
class TrainSettings:
    """Everything a training run depends on, as plain data: it travels to fresh processes as JSON.

    Each setting says what it is for. `part="control"`, random prompts of the same pool, shows what the curation is
    worth; so does `pool` with the static sampler, as trained without a curation. Where None leaves a choice open,
    `filled_from` takes it from the set, and `train/preflight` makes it: `drawing` for `part` and `sampler`, `batch` for
    `batch_size`, which counts the completions of all processes. Rewards between 0 and 1 are mapped to `reward_range`
    linearly. Under DPO `beta` is how much a preference weighs against leaving the policy as it was: the larger, the
    nearer it stays.
    """

    curated: Annotated[
        str, Setting("A curated set: its folder, or a version's. Without one, --pool, --form or --family.", TRAINED_ON)
    ]
    output: Annotated[str, Setting("Folder of the run.", TRAINED_ON, usual="runs/NAME-N, runs/NAME-PART-N")]
    part: Annotated[
        Part | None,
        Setting(
            "The set's train, its random control, the reserve of its preset, reviewed: train with a tenth of mastered "
            "prompts, or pool: kept and rejected prompts alike.",
            TRAINED_ON,
            usual="pool, drawn live, where the set has rejects; else train",
        ),
    ] = None
    families: Annotated[
        tuple[str, ...], Setting("Train on this family alone; repeatable.", TRAINED_ON, flag="--family")
    ] = ()
    method: Annotated[
        Method,
        Setting(
            "grpo; sft on the set's demonstrations, to warm up for it; or dpo on its preferences, pairs of a better "
            "and a worse completion."
        ),
    ] = "grpo"
    policy: Annotated[
        str | None,
        Setting("Model folder, LoRA adapter's folder, or hub id.", TRAINED_ON, usual="the one the set was curated for"),
    ] = None
    verifiers: TrustedVerifiers = ()
    steps: Annotated[int, Setting("Optimizer steps.", at_least=1)] = 60
    num_generations: Annotated[int, Setting("Completions a prompt: GRPO's group size.", at_least=1)] = 16
    batch_size: Annotated[
        int | None,
        Setting(
            "Completions a step: prompts times --num-generations; under dpo, pairs.",
            at_least=1,
            usual="128, or what the set fills, or fewer where that gives as many usable groups as 128 of the pool; 64 "
            "pairs",
        ),
    ] = None
    micro_batch_size: Annotated[
        int | None, Setting("Completions in one pass of one process.", at_least=1, usual="all")
    ] = None
    learning_rate: Annotated[
        float | None, Setting("Learning rate.", above=0, usual="one that suits the model's size")
    ] = None
    warmup_steps: Annotated[int, Setting("Steps over which the learning rate rises.", flag=None, at_least=0)] = 5
    beta: Annotated[
        float | None,
        Setting(
            "Weight of the KL term that pulls toward the policy as it was; under dpo, of what pulls there in the loss "
            "of a pair.",
            usual="0.04; under dpo 0.1",
        ),
    ] = None
    no_kl: Annotated[bool, Setting("Train without the KL term, knowing that policies collapse so.")] = False
    temperature: Annotated[float | None, Setting("Sampling temperature.", above=0, below=inf, usual=OF_SET)] = None
    top_p: Annotated[float | None, Setting("Nucleus sampling.", flag=None, above=0, at_most=1, usual=OF_SET)] = None
    top_k: Annotated[
        int | None,
        Setting("Draw from so many of the likeliest tokens; 0 for all.", flag=None, at_least=0, usual=OF_SET),
    ] = None
    max_completion_length: Annotated[int | None, Setting("Most tokens of a completion.", at_least=1, usual=OF_SET)] = (
        None
    )
    min_p: Annotated[
        float | None,
        Setting(
            "Drop tokens less likely than this share of the likeliest one; 0 for none.",
            flag=None,
            at_least=0,
            below=1,
            usual=OF_SET,
        ),
    ] = None
    repetition_penalty: Annotated[
        float | None, Setting("Above 1, tokens come back less often.", flag=None, above=0, below=inf, usual=OF_SET)
    ] = None
    stop: Annotated[tuple[str, ...] | None, Setting("Texts that end a completion.", flag=None, usual=OF_SET)] = None
    chat_template_kwargs: Annotated[
        Mapping[str, object] | None, Setting("What the policy's chat template is told.", flag=None, usual=OF_SET)
    ] = None
    think_tags: Annotated[str | None, Setting("Those around the policy's thoughts.", flag=None, usual=OF_SET)] = None
    loss_type: Annotated[LossType, Setting("One of TRL's losses: grpo, dr_grpo, dapo, ...")] = "grpo"
    sampler: Annotated[
        Sampler | None,
        Setting(
            "static: each prompt once an epoch; live: those whose groups are expected to disagree by now.",
            usual="live, unless a part is named",
        ),
    ] = None
    stored: Annotated[
        Stored,
        Setting(
            "first: begin with the rollouts that the set's store has of its prompts, by this policy and sampling, "
            "until they are used up or stale; off: generate all."
        ),
    ] = "off"
    predict: Annotated[Predict, Setting("auto: the live sampler predicts prompts without certificates; off.")] = "auto"
    curriculum: Annotated[
        str,
        Setting(
            "Draw prompts stage by stage: arithmetic, counting, or a TOML or JSON file of stages "
            "(docs/how-to/train.md), as in --curriculum arithmetic --curriculum-by success."
        ),
    ] = ""
    curriculum_by: Annotated[
        CurriculumBy,
        Setting(
            "What leads to the next stage: step, where the stages' from_step says so; or success, at a pass rate of "
            ".7, and back at .3."
        ),
    ] = "step"
    signal: Annotated[Signal, Setting("Train on what: reward, or pass.")] = "reward"
    reward_range: Annotated[
        tuple[float, float] | None,
        Setting(
            "What TRL is given for the worst and the best reward, as -1 1. It changes no step unless with "
            "--scale-rewards none.",
            usual="0 1",
        ),
    ] = None
    scale_rewards: Annotated[
        Scale | None, Setting("Divide advantages by the std of the group, of the batch, or by none.", usual="group")
    ] = None
    dpo_margin: Annotated[
        float | None,
        Setting(
            "Under dpo, by how much the rewards of a pair must differ, at most 1: passes and failures always do.",
            usual="0.2",
        ),
    ] = None
    allow_silent_reward: Annotated[
        bool,
        Setting("Train although no rollout of the curation moved what rewards ask of a completion's form.", TRAINED_ON),
    ] = False
    lora_rank: Annotated[
        int | None, Setting("Train LoRA adapters of this rank.", at_least=1, usual="train every weight")
    ] = None
    seed: Annotated[int, Setting("Seed of data order, sampling and evaluation.")] = 0
    evaluate: Annotated[bool, Setting("Measure held-out reward before and after.", MEASURED)] = True
    held_out: Annotated[
        HeldOutName,
        Setting(
            "kept: the held-out prompts that the curation kept; pool: the rejected ones too, which are reported apart.",
            MEASURED,
        ),
    ] = "kept"
    measured_on: Annotated[
        str, Setting("Another set, whose held-out prompts are measured.", flag=None, usual="the set's own")
    ] = ""
    engine_options: Annotated[
        Mapping[str, object] | None,
        Setting(
            "For the evaluation's vllm.LLM, such as gpu_memory_utilization=0.5; repeatable.",
            MEASURED,
            flag="--engine-arg",
        ),
    ] = None
    eval_group_size: Annotated[int, Setting("Fresh completions a held-out prompt.", MEASURED, at_least=1)] = 16
    eval_k: Annotated[int, Setting("The k of pass@k.", MEASURED, at_least=1)] = 8
    eval_limit: Annotated[int | None, Setting("Most held-out prompts.", MEASURED, at_least=1, usual="all")] = None
    eval_steps: Annotated[
        int,
        Setting(
            "Steps between looks at held-out prompts during training; without them no alarm tells of over-fitting and "
            "forgetting.",
            MEASURED,
            at_least=0,
            usual="none",
        ),
    ] = 0
    reach: Annotated[
        tuple[float, ...],
        Setting(
            "Report at which look this share of held-out completions first passes, as --eval-steps 5 --reach 0.7; "
            "repeatable.",
            MEASURED,
        ),
    ] = ()
    save_steps: Annotated[int, Setting("Steps between checkpoints.", MEASURED, at_least=1)] = 20
    monitor: Annotated[
        str, Setting("A TOML file of rules that change the monitor's and add to them.", MEASURED, usual="none")
    ] = ""
    on_alarm: Annotated[
        OnAlarm,
        Setting(
            "What an alarm of the monitor does: warn; stop the run, where the rule is severe; or keep a checkpoint of "
            "its step.",
            MEASURED,
        ),
    ] = "warn"
    on_dry: Annotated[
        OnDry,
        Setting(
            "What the live sampler does where hardly any prompt has spread left: warn and go on, or stop the run where "
            "fewer than a quarter of the last groups had any, and call it done.",
            flag=None,
        ),
    ] = "warn"
    use_vllm: Annotated[bool, Setting("Let the trainer sample with vLLM; needs a GPU.")] = False
    num_processes: Annotated[int, Setting("Training processes here.", at_least=1)] = 1
    accelerate_config: Annotated[
        str, Setting("A file of `accelerate config`: how many processes, where, and what they share.", usual="none")
    ] = ""
    trl: Annotated[Mapping[str, object], Setting("Another setting by TRL's own name, as key=value; repeatable.")] = (
        field(default_factory=dict)
    )
    report_to: Annotated[str, Setting("A tracker that TRL knows, such as trackio, for --pool too.", MEASURED)] = "none"
    resume: Annotated[bool, Setting("Go on from the last checkpoint in --output.", TRAINED_ON)] = False

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
        return {"sft": "demonstrations", "dpo": "preferences"}.get(self.method, self.named_part)

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
            defaults |= {"min_p": sampling.min_p or None, "stop": sampling.stop or None}
            defaults |= {"max_completion_length": sampling.max_tokens, "think_tags": sampling.think_tags or None}
            penalty = None if sampling.repetition_penalty == 1 else sampling.repetition_penalty
            defaults |= {"repetition_penalty": penalty, "chat_template_kwargs": dict(sampling.template_args) or None}
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
        listed = ("families", "stop", "reach", "verifiers", "reward_range")
        plain = asdict(self) | {name: list(getattr(self, name) or ()) for name in listed}
        if self.dpo_margin is None:  # 0 is given
            del plain["dpo_margin"]
        usual = {one.name: one.default for one in fields(self)} | {"sampler": "static"}
        return {
            name: value for name, value in plain.items() if name not in UNUSUAL or (value and value != usual.get(name))
        }

    def write(self, path: Path) -> None:
        """Write the settings as JSON."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(self.as_json(), indent=2) + "\n", encoding="utf-8")


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
