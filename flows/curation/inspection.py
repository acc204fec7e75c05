"""What a person should know of a pool before training on it: components, findings, and why prompts were not solved."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial

import polars as pl

from learnable.data.curated.manifest import ComponentRow, Finding, SummaryRow
from learnable.data.records import Prompt
from learnable.filters.decisions.findings import find_warnings
from learnable.filters.decisions.triage import Attempts, count_attempts, explain
from learnable.filters.statistics.forms import summarise_components
from learnable.flows.curation.silent_rewards import find_silent_rewards
from learnable.flows.sampling.sampler import Collected
from learnable.flows.sampling.scan import RolloutScan
from learnable.verifiers.protocol import Verifier, extract_answer, has_extractor
from learnable.verifiers.registry import find_verifier

FAMILIAR_PROMPTS = 512  # solved ones of each family whose answers are read too: they tell what is mere habit
REFERENCES = {"prompt_id": pl.String, "reference": pl.String}


@dataclass(frozen=True, slots=True)
class Inspection:
    """What was found in a pool.

    `components` has a row for each form and component; `triage` has `prompt_id`, `triage` and `evidence` of each prompt
    that was never solved; `unread` has a row for each form, as of `count_unread`.
    """

    components: pl.DataFrame
    findings: tuple[Finding, ...]
    triage: pl.DataFrame
    unread: pl.DataFrame

    @property
    def component_rows(self) -> tuple[ComponentRow, ...]:
        """The components as a manifest has them."""
        return tuple(ComponentRow(**row) for row in self.components.to_dicts())


def inspect_pool(decided: pl.DataFrame, collected: Collected) -> Inspection:
    """Look at a decided pool. `decided` has a row a prompt, as `decide_groups` returns them."""
    components = summarise_components(collected.evidence.components.lazy()).collect()
    silent = list(find_silent_rewards(components, collected.scan))
    silent_subjects = {finding.subject for finding in silent}
    others = [
        finding
        for finding in find_warnings(decided, components)
        if not (finding.code == "constant_component" and finding.subject in silent_subjects)
    ]
    return Inspection(components, (*silent, *others), _triage(decided, collected), collected.evidence.unread)


def with_unread(rows: Iterable[SummaryRow], unread: pl.DataFrame) -> tuple[SummaryRow, ...]:
    """Return rows of forms or families with the share of their judged completions in which no answer could be read.

    `unread` is as of `count_unread`. A row of which nothing was judged keeps None.
    """
    counts: dict[tuple[str, str | None], tuple[int, int]] = {}
    for family, form, judged, failed in unread.select("family", "form", "judged", "unread").iter_rows():
        counts[family, form] = (judged, failed)
        family_counts = counts.get((family, None), (0, 0))
        counts[family, None] = (family_counts[0] + judged, family_counts[1] + failed)
    counted_rows = ((row, counts.get((row.family, row.form), (0, 0))) for row in rows)
    return tuple(
        replace(row, extraction_failed_share=failed / judged) if judged else row
        for row, (judged, failed) in counted_rows
    )


def _triage(decided: pl.DataFrame, collected: Collected) -> pl.DataFrame:
    """Say why prompts were never solved, with the answers in completions where verifiers can read them."""
    readers = {
        name: verifier for name in decided["verifier"].unique() if has_extractor(verifier := find_verifier(name))
    }
    chosen = _choose_suspects(decided, readers)
    attempts = collected.evidence.attempts
    prompts = {prompt.prompt_id: prompt for prompt in collected.scan.prompts if prompt.prompt_id in chosen}
    counted = [
        count_attempts(part, _read_answers(readers, prompts, collected.scan, part))
        for part in collected.scan.parts(chosen)
    ]
    if counted:
        attempts = attempts.replaced_by(Attempts.merge(counted))
    right = [(name, _reference(prompt)) for name, prompt in prompts.items() if "answer" in prompt.spec]
    return explain(attempts, pl.DataFrame(right, REFERENCES, orient="row"))


def _choose_suspects(decided: pl.DataFrame, readers: Collection[str]) -> set[str]:
    """Return the prompts that were never solved and have answers that can be read, and some others to compare with."""
    unsolved = (pl.col("n") > 0) & (pl.col("passes") == 0)
    readable = decided.filter(pl.col("verifier").is_in(list(readers)) & (pl.col("n") > 0))
    families = readable.filter(unsolved)["family"].unique().to_list()
    suspects = readable.filter(pl.col("family").is_in(families))
    familiar = suspects.filter(~unsolved).group_by("family").head(FAMILIAR_PROMPTS)
    return {*suspects.filter(unsolved)["prompt_id"], *familiar["prompt_id"]}


def _read_answers(
    readers: Mapping[str, Verifier], prompts: Mapping[str, Prompt], scan: RolloutScan, scores: pl.DataFrame
) -> pl.DataFrame:
    """Read the answers out of completions: the texts of a file of the ledger at a time are in memory."""
    rollouts = scores.filter(pl.col("rollout_id") != "")
    read = lru_cache(4_096)(partial(_read, readers, prompts))  # short answers repeat
    rows = [
        (prompt_id, rollout_id, read(prompt_id, completion))
        for texts in scan.read_texts(rollouts)
        for prompt_id, rollout_id, completion in texts.iter_rows()
    ]
    return pl.DataFrame(rows, {"prompt_id": pl.String, "rollout_id": pl.String, "answer": pl.String}, orient="row")


def _read(
    readers: Mapping[str, Verifier], prompts: Mapping[str, Prompt], prompt_id: str, completion: str
) -> str | None:
    prompt = prompts[prompt_id]
    try:
        return extract_answer(readers[prompt.verifier], completion, prompt.spec)
    except Exception:  # a verifier of the user's: what it cannot read is no answer
        return None


def _reference(prompt: Prompt) -> str:
    answer = str(prompt.spec["answer"])
    return answer.casefold() if prompt.verifier == "choice" else answer
