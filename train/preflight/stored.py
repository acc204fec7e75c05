"""What a run that begins with stored rollouts will find of them, before a trainer is started."""

from __future__ import annotations

from learnable.data.curated.curated_set import CuratedSet, open_curated
from learnable.data.errors import LearnableError
from learnable.data.ledger.ledger import Draw
from learnable.data.policies import Policy
from learnable.train.settings import TrainSettings
from learnable.train.stored.plan import list_prompts, read_groups
from learnable.train.stored.sources import explain_none, open_ledger


def explain_stored(settings: TrainSettings, policy: Policy, curated: CuratedSet) -> list[str]:
    """Return how many stored groups a run may begin with, where it is to; a run that goes on has its own.

    Raises `LearnableError` for a set that lies in no store, and for a store that has not a batch of such groups.
    """
    if settings.stored == "off" or settings.resume:
        return []
    place = open_curated(settings.curated).path  # and not that of a copy on this machine
    ledger = open_ledger(place)
    prompts = list_prompts(curated.read(settings.named_part, settings.families), str(place))
    draw, size = Draw(policy.policy_id, settings.sampling), settings.num_generations
    groups = read_groups(ledger, draw, prompts, size, settings.signal, settings.seed)
    count, owners = groups["group"].n_unique(), groups["prompt_id"].n_unique()
    if owners < settings.prompts_per_step:
        raise LearnableError(explain_none(draw, groups, size, settings.prompts_per_step))
    return [
        f"begins with what is stored: at most {count:,} groups of {size} with spread, of {owners:,} prompts, for up to "
        f"{count // settings.prompts_per_step:,} steps; it generates nothing as long as they last and are not stale"
    ]
