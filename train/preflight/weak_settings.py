"""What works but disappoints: a warning for each setting that earlier runs were spoiled by, with the way out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from learnable.data.curated.manifest import LengthsRecord, Manifest
from learnable.train.settings import TrainSettings, usual_learning_rate

MANY_EPOCHS = 20


def warn_of_groups(settings: TrainSettings) -> list[str]:
    """Warn of groups so small that many will have no spread."""
    generations = settings.num_generations
    if generations >= 8 or settings.method != "grpo":
        return []
    return [
        f"`num_generations` {generations} is small: at a pass rate of 0.25, "
        f"{0.75**generations + 0.25**generations:.0%} of groups would have no spread and teach nothing (1% at 16)"
    ]


def warn_of_temperature(settings: TrainSettings) -> list[str]:
    """Warn of completions drawn so cold that those of a prompt are alike."""
    temperature = settings.sampling.temperature
    if temperature > 0.5 or settings.method != "grpo":
        return []
    return [
        f"`temperature` {temperature:g} is low: completions of a prompt come out alike, so groups lose their spread "
        "and the policy finds nothing new; give 0.7 or more, and curate at the temperature that you train with"
    ]


def warn_of_short_completions(settings: TrainSettings, manifest: Manifest) -> list[str]:
    """Warn of a limit that would have cut more than one in twenty of the curation's completions.

    Where families are chosen, of the completions of the one that is cut most. Sets that were made by hand do not say
    how long completions were: there any limit below the curation's own is warned of.
    """
    limit = settings.sampling.max_tokens
    if manifest.lengths:
        whose, lengths = _find_longest(settings, manifest.lengths, manifest.family_lengths or {})
        if limit >= lengths.p95:
            return []
        return [
            f"`max_completion_length` {limit} would have cut more than 1 in 20 of the curation's completions{whose} "
            f"(95% of them are at most {lengths.p95} tokens, the longest {lengths.longest}), which may have passed "
            f"there: give {lengths.p95} or more"
        ]
    curated_at = None if manifest.find_absent(("sampling",)) else manifest.sampling.max_tokens
    if not curated_at or limit >= curated_at:
        return []
    return [
        f"`max_completion_length` {limit} is below the {curated_at} tokens of the curation: completions that "
        f"passed there may be cut short here; give {curated_at}"
    ]


def _find_longest(
    settings: TrainSettings, overall: LengthsRecord, by_family: Mapping[str, LengthsRecord]
) -> tuple[str, LengthsRecord]:
    """Return whose lengths a limit is compared with, as words, and those: of all, or of the longest chosen family."""
    if not settings.families:
        return "", overall
    chosen = [(f" of {name}", by_family[name]) for name in settings.families if name in by_family]
    return max(chosen, key=lambda named: named[1].p95, default=("", LengthsRecord()))


def warn_of_learning_rate(settings: TrainSettings, parameters: int | None, *, lora: bool) -> list[str]:
    """Warn of a rate outside what presets use for a policy of so many parameters; None where that is not known."""
    rate = settings.learning_rate
    if rate is None or parameters is None or settings.method == "sft":
        return []
    usual = usual_learning_rate(parameters, lora=lora)
    # As far as presets go. Twice the upper end is known to have lost what a policy knew.
    low, high = usual * 0.1, usual * 5.0
    if low * (1 - 1e-9) <= rate <= high * (1 + 1e-9):
        return []
    what = f"{'adapters on ' if lora else ''}a policy of {parameters:,} parameters"
    why = "it may forget what it knows or collapse" if rate > high else "hardly anything will be learned"
    return [
        f"`learning_rate` {rate:g} is outside {low:g} to {high:g}, what presets use for {what}: {why}; leave it out "
        f"for {usual:g}"
    ]


def warn_of_repeats(trained: Iterable[str], held_out: Iterable[str], part: str = "train") -> list[str]:
    """Warn of prompts that a part has more than once, and of held-out ones that are trained on. Texts of prompts."""
    prompts, others = list(trained), list(held_out)
    distinct = set(prompts)
    warnings = []
    if more := len(prompts) - len(distinct):
        warnings.append(
            f"{more} of {len(prompts)} {part} prompts repeat another one and are trained on as often: remove them from "
            "the input and curate again"
        )
    if leaked := sum(text in distinct for text in others):
        warnings.append(
            f"{leaked} of {len(others)} held-out prompts are trained on too, so held-out reward will rise by what is "
            "learned by heart: curate again from input without repeats, or measure on other prompts"
        )
    return warnings


def warn_of_epochs(settings: TrainSettings, prompts: int) -> list[str]:
    """Warn of a run that visits each prompt again and again."""
    if count_epochs(settings, prompts) <= MANY_EPOCHS:
        return []
    most = max(1, MANY_EPOCHS * prompts // settings.prompts_per_step)
    return [
        f"{settings.steps} steps visit each of {prompts} prompts {count_epochs(settings, prompts):.0f} times: expect "
        f"over-fitting; give `steps` {most} or fewer, or curate more prompts"
    ]


def count_epochs(settings: TrainSettings, prompts: int) -> float:
    """Return how often a run visits each prompt, on average."""
    return settings.steps * settings.prompts_per_step / prompts


def warn_of_collapse(settings: TrainSettings) -> list[str]:
    """Warn of training without a KL term."""
    if not settings.no_kl:
        return []
    return ["training without a KL term: watch entropy, since nothing stops the policy from collapsing"]


def warn_of_few_held_out(settings: TrainSettings, held_out: int) -> list[str]:
    """Warn of an evaluation that cannot tell."""
    if not settings.evaluate or held_out >= 8:
        return []
    return [f"only {held_out} held-out prompts: too few to tell a change from chance"]
