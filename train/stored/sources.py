"""Whose stored rollouts a trainer can begin with: read off the trainer, and found in a store."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import polars as pl
from upath import UPath

from learnable.data.band import Signal
from learnable.data.errors import LearnableError
from learnable.data.ledger.ledger import Draw, Ledger
from learnable.data.policies import find_policy
from learnable.data.records import Sampling
from learnable.data.storage.places import PathOrUrl
from learnable.data.store import Store, find_home
from learnable.train.live.hooks import LearnabilitySampler
from learnable.train.live.sampler import LiveOrder, PromptPicker
from learnable.train.stored.plan import list_prompts, make_batches, read_groups

if TYPE_CHECKING:
    from trl import GRPOTrainer


@dataclass(frozen=True, slots=True)
class StoredSource:
    """Where the stored groups of a run come from: `store`, or without one the store that the set lies in."""

    curated: UPath
    store: PathOrUrl | None
    policy_id: str
    sampling: Sampling
    signal: Signal

    def plan(self, trainer: Any, picker: PromptPicker, most: int) -> pl.DataFrame:
        """Return at most so many batches for a trainer. Raises `LearnableError` where there is not one."""
        layout, tokenizer = picker.layout, trainer.processing_class
        ledger, draw = open_ledger(self.curated, self.store), Draw(self.policy_id, self.sampling)
        prompts = list_prompts(trainer.train_dataset.with_format("arrow")[:], str(self.curated))
        groups = read_groups(ledger, draw, prompts, layout.group_size, self.signal, picker.seed, tokenizer)
        batches = make_batches(groups, prompts, picker.list_chances(), layout.prompts, most, picker.seed)
        if not batches.height:
            raise LearnableError(explain_none(draw, groups, layout.group_size, layout.prompts))
        return batches


def open_ledger(curated: UPath, store: PathOrUrl | None = None) -> Ledger:
    """Return the ledger with a set's rollouts. Raises `LearnableError` for a copy that lies in no store."""
    home = Store(store).open() if store is not None else find_home(curated)
    if home is None:
        raise LearnableError(
            f"curated set {str(curated)!r} lies in no store, so its stored rollouts are not here: take the set in its "
            "store, STORE/curated/NAME, or leave out `stored` first"
        )
    return home.ledger


def explain_none(draw: Draw, groups: pl.DataFrame, size: int, prompts: int) -> str:
    """Return why a run cannot begin with stored groups."""
    usable = f"{groups['group'].n_unique()} of {groups['prompt_id'].n_unique()} prompts" if groups.height else "none"
    return (
        f"no step can be taken on stored rollouts: it takes {prompts} groups of {size} different completions with "
        f"spread, and of {draw.policy_id} under {draw.sampling.sampling_id} with at most {draw.sampling.max_tokens} "
        f"tokens there are {usable}. Train with the set's policy and sampling, give a smaller `num_generations`, or "
        "leave out `stored` first"
    )


def check_trainer(trainer: GRPOTrainer) -> None:
    """Raise `LearnableError` for a trainer that stored completions cannot be given to."""
    own: Any = trainer
    replaced = ("_generate_and_score_completions", "_generate_single_turn", "_compute_loss", "use_vllm", "ref_model")
    if missing := [name for name in replaced if not hasattr(own, name)]:
        raise LearnableError(f"stored rollouts do not know this version of TRL: no {', '.join(missing)}")
    for name in ("tools", "environment_factories", "rollout_func"):
        if getattr(own, name, None):
            raise LearnableError(f"stored rollouts are answers to one turn, and this trainer has {name}: leave it out")


def find_sampler(trainer: GRPOTrainer) -> LearnabilitySampler:
    """Return the sampler that draws for a trainer; where none is attached, one that takes all prompts alike.

    Raises `LearnableError` for one that draws by a curriculum, and as `LearnabilitySampler.attach` does.
    """
    own: Any = trainer
    order = own._get_train_sampler()
    if not isinstance(order, LiveOrder):
        return LearnabilitySampler.attach(trainer, is_even=True)
    sampler: LearnabilitySampler = own.learnability_sampler
    if sampler.order.picker.course:
        raise LearnableError("stored rollouts are not drawn stage by stage: leave out the curriculum")
    return sampler


def find_policy_id(trainer: GRPOTrainer) -> str:
    """Return the id of what a trainer's model was loaded from. Raises `LearnableError` where that is not known."""
    own: Any = trainer
    model = own.accelerator.unwrap_model(own.model)
    name = str(model.config._name_or_path)
    # "ref" is TRL's name for the copy of a given adapter as it was.
    if "ref" in getattr(model, "peft_config", {}) or not name:
        raise LearnableError(
            "what the trainer's model was loaded from is not known, or has an adapter: name whose rollouts these are "
            "(policy_id)"
        )
    return find_policy(name).policy_id


def read_sampling(trainer: GRPOTrainer, curated: Sampling) -> Sampling:
    """Return how a trainer draws; what the policy's thoughts are between is the set's."""
    own: Any = trainer
    given = own.args.generation_kwargs or {}
    return replace(
        curated,
        temperature=own.temperature,
        top_p=own.top_p,
        top_k=own.top_k or 0,
        min_p=own.min_p or 0.0,
        repetition_penalty=own.repetition_penalty,
        max_tokens=own.max_completion_length,
        stop=tuple(given.get("stop_strings") or given.get("stop") or ()),
        template_args=dict(own.chat_template_kwargs or {}),
    )
