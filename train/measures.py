"""What a batch of completions shows beside its rewards: logged by the reward functions, watched by the monitor."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence

import numpy as np

from learnable.data.records import Score

MASTERED_BY = 8  # completions at least: of four, a prompt of a pass rate of .8 passes all by chance
LOST_BY = 0.1  # below what a certificate promises: no completion of a group gets near it


def measure_groups(keys: Sequence[str], scores: Sequence[Score]) -> Iterator[tuple[str, float]]:
    """Yield how rewards vary within and between groups of equal `keys`, the pass rate, and the share without a reward.

    Unscored completions count only in `unscored_share`. TRL's own `reward_std` is the std of the whole
    batch: it stays high when prompts differ while every group is unanimous, so it cannot stand in for this.
    """
    groups: dict[str, list[float]] = {}
    for key, score in zip(keys, scores, strict=True):
        if score.reward is not None:
            groups.setdefault(key, []).append(score.reward)
    stds = [0.0 if min(rewards) == max(rewards) else float(np.std(rewards)) for rewards in groups.values()]
    if stds:
        yield "within_group_std", float(np.mean(stds))
        yield "zero_std_share", stds.count(0.0) / len(stds)
        yield "mean_abs_advantage", float(np.mean([measure_advantage(rewards) for rewards in groups.values()]))
        if len(groups) > 1:
            yield "between_group_std", float(np.std([np.mean(rewards) for rewards in groups.values()]))
        yield "pass_rate", float(np.mean([bool(score.passed) for score in scores if score.reward is not None]))
    yield "unscored_share", sum(score.reward is None for score in scores) / len(scores)


def measure_gain(
    keys: Sequence[str], earned: Sequence[float | None], promised: Sequence[float | None]
) -> Iterator[tuple[str, float]]:
    """Yield what became of the rewards that certificates promise, of the groups of equal `keys`.

    `promised` has the expected reward of each completion's prompt; None where nothing is known of it. `reward_gain` is
    by how much rewards are above it, the mean over groups. `lost_share` is the share of groups whose best reward is
    more than `LOST_BY` below it, beyond what chance gives, (1 - promised) ** G of G coins: a policy that collapsed onto
    one wrong answer has such groups. Groups that are promised no more than `LOST_BY` are left out of it.
    """
    groups: dict[str, tuple[float, list[float]]] = {}
    for key, reward, expected in zip(keys, earned, promised, strict=True):
        if reward is not None and expected is not None:
            groups.setdefault(key, (expected, []))[1].append(reward)
    if groups:
        yield "reward_gain", float(np.mean([np.mean(rewards) - expected for expected, rewards in groups.values()]))
    lost = [
        (max(rewards) < expected - LOST_BY) - (1 - expected) ** len(rewards)
        for expected, rewards in groups.values()
        if expected > LOST_BY
    ]
    if lost:
        yield "lost_share", float(np.mean(lost))


def measure_advantage(rewards: Sequence[float]) -> float:
    """Return the mean of |reward - mean| / (std + 1e-4) over a group, std the sample one: how TRL scales advantages.

    >>> round(measure_advantage([1.0, 0.0, 1.0, 0.0]), 3), measure_advantage([1.0, 1.0])
    (0.866, 0.0)
    """
    if min(rewards) == max(rewards):
        return 0.0
    return float(np.abs(np.asarray(rewards) - np.mean(rewards)).mean() / (np.std(rewards, ddof=1) + 1e-4))


def measure_components(verifier: Sequence[str], scores: Sequence[Score]) -> Iterator[tuple[str, float]]:
    """Yield the mean of each named part of a reward over the completions that have it."""
    parts: dict[str, list[float]] = {}
    for name, score in zip(verifier, scores, strict=True):
        for part, value in score.components.items():
            parts.setdefault(f"component/{name}/{part}", []).append(value)
    for part, values in sorted(parts.items()):
        yield part, float(np.mean(values))


def measure_texts(keys: Sequence[str], texts: Sequence[Sequence[Hashable]]) -> Iterator[tuple[str, float]]:
    """Yield how much completions repeat themselves, and how many different n-grams groups of equal `keys` have.

    `texts` are tokens or words. `repeated_ngrams`: share of a completion's 4-grams that stood in it before, mean over
    completions. `distinct_ngrams`: share of a group's 2-grams that are different ones, mean over groups. What is too
    short to have any is left out.
    """
    repeated: list[float] = []
    different: dict[str, set[tuple[Hashable, ...]]] = {}
    counts: Counter[str] = Counter()
    for key, text in zip(keys, texts, strict=True):
        if grams := list_ngrams(text, 4):  # seq-rep-4 of Welleck et al., arXiv 1908.04319
            repeated.append(1 - len(set(grams)) / len(grams))
        pairs = list_ngrams(text, 2)  # distinct-2 of Li et al., arXiv 1510.03055
        different.setdefault(key, set()).update(pairs)
        counts[key] += len(pairs)
    if repeated:
        yield "repeated_ngrams", float(np.mean(repeated))
    if any(counts.values()):
        yield "distinct_ngrams", float(np.mean([len(different[key]) / count for key, count in counts.items() if count]))


def list_ngrams(text: Sequence[Hashable], n: int) -> list[tuple[Hashable, ...]]:
    """Return the runs of `n` tokens in their order.

    >>> list_ngrams("so so so".split(), 2)
    [('so', 'so'), ('so', 'so')]
    """
    return list(zip(*(text[start:] for start in range(n)), strict=False))


def measure_memory(
    keys: Sequence[str], passed: Sequence[bool | None], mastered: set[str]
) -> Iterator[tuple[str, float]]:
    """Yield the shares of held-out prompts that are mastered, and that were and are forgotten; add to `mastered`.

    A prompt is mastered when all its completions pass, `MASTERED_BY` at the least, and forgotten when it was and fewer
    than half pass. Both are shares of all prompts here, so that their means over batches are those of the whole.
    """
    groups: dict[str, list[bool]] = {}
    for key, verdict in zip(keys, passed, strict=True):
        groups.setdefault(key, []).extend([] if verdict is None else [verdict])
    now = {key for key, verdicts in groups.items() if len(verdicts) >= MASTERED_BY and all(verdicts)}
    gone = [key for key in mastered & set(groups) if sum(groups[key]) < 0.5 * len(groups[key])]
    mastered |= now
    yield "mastered_share", len(now) / len(groups)
    yield "forgotten_share", len(gone) / len(groups)
