"""Why a prompt was never solved, as far as its rollouts tell: our fault, a wrong reference, or plainly hard."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from learnable.data.records import FailureKind
from learnable.data.tables import with_own_texts

TRIAGES = ("verifier_error", "truncated", "extraction_failed", "bad_label", "near_miss", "plain_hard")

AGREED = 0.75  # share of a prompt's completions that give one answer


def triage(scores: pl.DataFrame, answers: pl.DataFrame, references: pl.DataFrame | None = None) -> pl.DataFrame:
    """Say of each never-solved prompt what the evidence points to; the first that holds, in this order.

    - `verifier_error`: the verifier failed on most completions;
    - `truncated`: most completions ran out of tokens;
    - `extraction_failed`: most hold no answer that could be read;
    - `bad_label`: completions agree with each other and not with the reference (see `_label_is_doubtful`);
    - `near_miss`: the best reward, or the weakest component of some rollout, is at least 0.8;
    - `plain_hard`: none of these.

    Args:
        scores: one row a rollout: `prompt_id`, `rollout_id`, `family`, `form`, `reward`, `passed`, `verdict`, `reason`,
            `components`. Of all prompts, solved ones too: they tell which answers are mere habits.
        answers: `prompt_id`, `rollout_id` and `answer`, equal answers as equal text: null where a completion holds
            none. A rollout whose verifier reads no answers has no row.
        references: `prompt_id` and `reference`, the right answer as text, where known.

    Returns:
        `prompt_id`, `triage` (one of `TRIAGES`) and `evidence` (a phrase with the numbers), in the order of ids, for
        each prompt with a reward and without a pass.
    """
    return explain(count_attempts(scores, answers), references)


@dataclass(frozen=True, slots=True)
class Attempts:
    """What `triage` needs of rollouts, added up by prompt.

    `unsolved` has a row for each prompt with a reward and without a pass; `read` one for each whose completions were
    read for answers, with how many of them count and are wrong, and `given` likewise one for each of its answers.
    """

    unsolved: pl.DataFrame
    read: pl.DataFrame
    given: pl.DataFrame

    @classmethod
    def merge(cls, parts: Sequence[Attempts]) -> Attempts:
        """Return the attempts of all these parts, no two of which have a prompt in common."""
        frames = [(part.unsolved, part.read, part.given) for part in parts]
        return cls(*(pl.concat(column) for column in zip(*frames, strict=True)))

    def replaced_by(self, later: Attempts) -> Attempts:
        """Return these attempts, but for the prompts of which the later ones know the answers too."""
        others = self.unsolved.join(later.unsolved, on="prompt_id", how="anti")
        return Attempts(pl.concat([others, later.unsolved]), later.read, later.given)


def count_attempts(scores: pl.DataFrame, answers: pl.DataFrame | None = None) -> Attempts:
    """Add up scored rollouts, all of each prompt, for `explain`. Both arguments are as for `triage`."""
    columns = ("prompt_id", "rollout_id", "answer")
    known = answers if answers is not None else pl.DataFrame(schema=dict.fromkeys(columns, pl.String))
    completions = (
        scores.lazy()
        .filter(pl.col("verdict") != "engine_error")
        .join(
            known.lazy().with_columns(pl.lit(value=True).alias("readable")), on=["prompt_id", "rollout_id"], how="left"
        )
        .with_columns(pl.col("readable", "passed").fill_null(value=False), pl.col("reason").fill_null(""))
    )
    read = completions.filter(pl.col("readable") & pl.col("reward").is_not_null())
    keys = ("prompt_id", "family", "form")
    counts = pl.len().cast(pl.Int64).alias("all"), (~pl.col("passed")).sum().cast(pl.Int64).alias("wrong")
    return Attempts(
        with_own_texts(_unsolved(completions).collect()),
        with_own_texts(read.group_by(keys).agg(counts).collect()),
        with_own_texts(read.filter(pl.col("answer").is_not_null()).group_by(*keys, "answer").agg(counts).collect()),
    )


def count_unread(scores: pl.DataFrame) -> pl.DataFrame:
    """Return a row a form: `family`, `form`, `judged` (rollouts with a reward), `unread` (those without an answer)."""
    judged = scores.filter(pl.col("reward").is_not_null())
    return judged.group_by("family", "form").agg(
        pl.len().cast(pl.Int64).alias("judged"), _is_unread().sum().cast(pl.Int64).alias("unread")
    )


def _is_unread() -> pl.Expr:
    reason = pl.col("reason").fill_null("")
    return reason.str.starts_with(FailureKind.UNREAD)


def explain(attempts: Attempts, references: pl.DataFrame | None = None) -> pl.DataFrame:
    """Say of each never-solved prompt of a whole pool what the evidence points to, as `triage` does."""
    columns = ("prompt_id", "reference")
    known = references if references is not None else pl.DataFrame(schema=dict.fromkeys(columns, pl.String))
    judged = (
        attempts.unsolved.lazy()
        .join(_agreed_answers(attempts), on="prompt_id", how="left")
        .join(known.lazy(), on="prompt_id", how="left")
    )
    return _judge(judged).sort("prompt_id").collect()


def _unsolved(completions: pl.LazyFrame) -> pl.LazyFrame:
    """Return one row a prompt that has a reward and no pass, with the counts that explain it."""
    verdict, reward = pl.col("verdict"), pl.col("reward")
    no_answer = pl.col("readable") & pl.col("answer").is_null()
    unread = reward.is_not_null() & (no_answer | _is_unread())
    failed = verdict == "verifier_error"
    weakest = pl.col("components").list.eval(pl.element().struct.field("value")).list.min()
    return (
        completions.group_by("prompt_id")
        .agg(
            pl.len().alias("made"),
            reward.count().alias("n"),
            pl.col("passed").sum().alias("passes"),
            failed.sum().alias("failed"),
            pl.col("reason").filter(failed).mode().min().alias("complaint"),
            (verdict == "truncated").sum().alias("cut"),
            unread.sum().alias("unread"),
            reward.max().alias("best"),
            weakest.filter(reward.is_not_null()).max().alias("weakest"),
        )
        .filter((pl.col("n") > 0) & (pl.col("passes") == 0))
    )


def _agreed_answers(attempts: Attempts) -> pl.LazyFrame:
    """Return each prompt's most common answer: `agreed`, given by `agreeing` of `answered` completions.

    `base` is how often other prompts get that answer, the highest of five rates: among all completions and among the
    wrong ones, of the family and of the form, and among the family's prompts that agree on a wrong answer. A habit of
    the policy shows in one of them, whether it has it for all prompts, for one kind or now and then, and whether it
    is often right by it. `others` counts the other prompts of the family.
    """
    prompts = attempts.read.lazy().with_columns(
        *_elsewhere(), (pl.len().over("family").cast(pl.Int64) - 1).alias("others"), pl.col("all").alias("answered")
    )
    given = attempts.given.lazy().with_columns(_elsewhere("answer"))
    given = given.sort("prompt_id", "all", "answer", descending=[False, True, False])
    top = given.unique("prompt_id", keep="first", maintain_order=True)
    suspect = ((pl.col("wrong") == pl.col("all")) & (pl.col("all") >= AGREED * pl.col("answered"))).cast(pl.Int64)
    answers = top.join(prompts, on="prompt_id", suffix="_of").with_columns(
        (suspect.sum().over("family", "answer") - suspect).alias("suspects"),
        (suspect.sum().over("family") - suspect).alias("suspects_of"),
    )
    names = ("all_in_family", "all_in_form", "wrong_in_family", "wrong_in_form", "suspects")
    rates = [pl.col(name) / pl.col(f"{name}_of").clip(lower_bound=1) for name in names]
    return answers.select(
        "prompt_id", "answered", "others", agreed="answer", agreeing="all", base=pl.max_horizontal(rates)
    )


def _elsewhere(*keys: str) -> list[pl.Expr]:
    """Count the completions, and the wrong ones, that other prompts of the family and of the form have."""
    kinds = {"family": ["family", *keys], "form": ["family", "form", *keys]}
    return [
        (pl.col(what).sum().over(kind) - pl.col(what)).alias(f"{what}_in_{name}")
        for what in ("all", "wrong")
        for name, kind in kinds.items()
    ]


def _label_is_doubtful() -> pl.Expr:
    """Completions agree on an answer that is not the reference, and that other prompts hardly ever get.

    At least `AGREED` of 8 completions or more give it, and 10 times the share that give it elsewhere. A policy that
    prints the same number whatever the question agrees with itself too, and says nothing of the reference.
    """
    agreed = pl.col("agreeing") >= AGREED * pl.col("answered")
    # Fewer answers to one prompt may agree by chance. Without 20 other prompts of the family nobody knows how often
    # that is.
    enough = (pl.col("answered") >= 8) & (pl.col("others") >= 20)
    # Ten times as often as completions of other prompts give it.
    rare = pl.col("agreeing") >= 10.0 * pl.col("base") * pl.col("answered")
    return enough & agreed & rare & pl.col("agreed").ne_missing(pl.col("reference"))


def _judge(judged: pl.LazyFrame) -> pl.LazyFrame:
    """Name what each prompt's counts point to, and say why."""
    cause, evidence = pl.lit("plain_hard"), pl.format("{} over {} completions", _best_reward(), "n")
    for name, (holds, why) in reversed(_cases().items()):
        cause = pl.when(holds).then(pl.lit(name)).otherwise(cause)
        evidence = pl.when(holds).then(why).otherwise(evidence)
    return judged.select("prompt_id", cause.cast(pl.Enum(TRIAGES)).alias("triage"), evidence.alias("evidence"))


def _cases() -> dict[str, tuple[pl.Expr, pl.Expr]]:
    """Return when each cause holds and how to say so, the first to be tried first."""
    most_made, most_scored = (0.5 * pl.col(count) for count in ("made", "n"))
    weakest = pl.format("{}, weakest component of a rollout {}", _best_reward(), pl.col("weakest").round(2))
    return {
        "verifier_error": (
            pl.col("failed") > most_made,
            pl.format("the verifier failed on {} of {} completions: {}", "failed", "made", "complaint"),
        ),
        "truncated": (
            pl.col("cut") > most_made,
            pl.format("{} of {} completions ran out of tokens", "cut", "made"),
        ),
        "extraction_failed": (
            pl.col("unread") > most_scored,
            pl.format("{} of {} completions hold no answer that could be read", "unread", "n"),
        ),
        "bad_label": (_label_is_doubtful().fill_null(value=False), _agreement()),
        "near_miss": (pl.max_horizontal("best", "weakest") >= 0.8, pl.coalesce(weakest, _best_reward())),
    }


def _agreement() -> pl.Expr:
    """Say what completions agree on, how common that is elsewhere, and what the reference is."""
    reference = pl.coalesce(pl.format("the reference is {}", "reference"), pl.lit("the reference is another"))
    elsewhere = (100 * pl.col("base")).round(1)
    counts = ("agreeing", "answered", "agreed")
    return pl.format("{} of {} completions answer {}, elsewhere at most {}% do; {}", *counts, elsewhere, reference)


def _best_reward() -> pl.Expr:
    return pl.format("best reward {}", pl.col("best").round(2))
