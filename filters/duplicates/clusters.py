"""Which prompts go to one side of a split together: those of one problem, of one question, and near duplicates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from learnable.data.records import Prompt
from learnable.filters.duplicates.near_duplicates import Clusters, cluster_near


def cluster_problems(prompts: Sequence[Prompt], *, near: bool = True) -> list[str]:
    """Return the name of each prompt's cluster: the first of the problem ids in it, in their own order.

    Prompts of one problem or one question are in one cluster, and so is whatever connects them. `near` says whether
    near duplicates are too: where they were dropped before, they need not be looked for again.
    """
    clusters = Clusters(len(prompts))
    if near:
        for index, first in enumerate(cluster_near(prompts)):
            clusters.join(index, first)
    problems = [prompt.problem_id for prompt in prompts]
    _join_equal(problems, clusters)
    _join_equal((prompt.question_id for prompt in prompts), clusters)
    least: dict[int, str] = {}
    for index, problem in enumerate(problems):
        root = clusters.find(index)
        least[root] = min(problem, least.get(root, problem))
    return [least[clusters.find(index)] for index in range(len(prompts))]


def _join_equal(names: Iterable[str], clusters: Clusters) -> None:
    first_of: dict[str, int] = {}
    for index, name in enumerate(names):
        clusters.join(index, first_of.setdefault(name, index))
