"""What a person should know of a pool before training on it: components, findings, and why prompts were not solved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import polars as pl

from learnable.data.curated.manifest import ComponentRow, FindingRow
from learnable.data.records import Prompt
from learnable.filters.decisions.findings import Finding, find_warnings
from learnable.filters.decisions.triage import triage
from learnable.filters.statistics.forms import component_stats
from learnable.flows.run import Run
from learnable.flows.sampling.sampler import Collected
from learnable.verifiers.protocol import Verifier, extract_answer, has_extractor
from learnable.verifiers.registry import find_verifier

FAMILIAR_PROMPTS = 512  # solved ones of each family whose answers are read too: they tell what is mere habit
ANSWERS = {"prompt_id": pl.String, "rollout_id": pl.String, "answer": pl.String}
REFERENCES = {"prompt_id": pl.String, "reference": pl.String}


@dataclass(frozen=True, slots=True)
class Inspection:
    """What was found in a pool.

    `components` has a row for each form and component; `triage` has `prompt_id`, `triage` and `evidence` of each prompt
    that was never solved.
    """

    components: pl.DataFrame
    findings: Sequence[Finding]
    triage: pl.DataFrame

    @property
    def finding_rows(self) -> tuple[FindingRow, ...]:
        """The findings as a manifest and a report have them."""
        return tuple(FindingRow(**asdict(finding)) for finding in self.findings)

    @property
    def component_rows(self) -> tuple[ComponentRow, ...]:
        """The components as a manifest has them."""
        return tuple(ComponentRow(**row) for row in self.components.to_dicts())


def inspect_pool(run: Run, prompts: Sequence[Prompt], decided: pl.DataFrame, collected: Collected) -> Inspection:
    """Look at a decided pool. `decided` has a row a prompt, as `decide_groups` returns them."""
    scores = collected.mark_openings().join(
        decided.select("prompt_id", "family", "form"), on="prompt_id", maintain_order="left"
    )
    components = component_stats(scores.lazy(), truncated=run.settings.truncated).collect()
    return Inspection(
        components,
        find_warnings(decided, components),
        triage(scores, *_answers(run, {prompt.prompt_id: prompt for prompt in prompts}, scores, decided)),
    )


def _answers(
    run: Run, prompts: Mapping[str, Prompt], scores: pl.DataFrame, decided: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Read the answers out of completions whose verifiers can, and the right ones out of their specs."""
    readers = {
        name: verifier for name in decided["verifier"].unique() if has_extractor(verifier := find_verifier(name))
    }
    unsolved = (pl.col("n") > 0) & (pl.col("passes") == 0)
    readable = decided.filter(pl.col("verifier").is_in(list(readers)) & (pl.col("n") > 0))
    families = readable.filter(unsolved)["family"].unique().to_list()
    suspects = readable.filter(pl.col("family").is_in(families))
    chosen = pl.concat(
        [suspects.filter(unsolved), suspects.filter(~unsolved).group_by("family").head(FAMILIAR_PROMPTS)],
        how="diagonal",
    )
    rollouts = scores.join(chosen.select("prompt_id"), on="prompt_id", how="semi").filter(pl.col("rollout_id") != "")
    keys = rollouts.select("prompt_id", "rollout_id")
    rows = [
        (prompt_id, rollout_id, _read(readers, prompts[prompt_id], completion))
        for texts in run.store.ledger.read_completions(run.draw, rollouts)
        for prompt_id, rollout_id, completion in keys.join(texts, on="rollout_id", maintain_order="left").iter_rows()
    ]
    right = [(name, _reference(prompts[name])) for name in chosen["prompt_id"] if "answer" in prompts[name].spec]
    return pl.DataFrame(rows, ANSWERS, orient="row"), pl.DataFrame(right, REFERENCES, orient="row")


def _read(readers: Mapping[str, Verifier], prompt: Prompt, completion: str) -> str | None:
    try:
        return extract_answer(readers[prompt.verifier], completion, prompt.spec)
    except Exception:  # a verifier of the user's: what it cannot read is no answer
        return None


def _reference(prompt: Prompt) -> str:
    answer = str(prompt.spec["answer"])
    return answer.casefold() if prompt.verifier == "choice" else answer
