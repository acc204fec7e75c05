"""Where a run's completions are scored: in processes of this machine, or on the nodes of a Ray cluster."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

from learnable.flows.run import Run
from learnable.flows.settings.curation import HERE, RAY
from learnable.verifiers.domains import VARIABLES
from learnable.verifiers.own.packing import pack_code
from learnable.verifiers.pool.remote import NodeCheck, NodeScorer, RemoteSupervisor
from learnable.verifiers.pool.scoring import OnScore, ScoringPool
from learnable.verifiers.pool.supervisor import AnySupervisor
from learnable.verifiers.registry import find_verifier


@contextmanager
def open_judges(run: Run, verifiers: Iterable[str], on_score: OnScore) -> Iterator[ScoringPool]:
    """Give the pool that scores by these verifiers. A cluster is reached when there is something to score.

    Raises `LearnableError` then, where it cannot be reached or no node of it can score.
    """
    settings, names = run.settings, sorted(verifiers)
    with ExitStack() as cluster:
        if settings.score_on == HERE:
            pool = ScoringPool(settings.workers, settings.verifier_timeout, on_score)
        else:
            pool = ScoringPool(
                settings.workers,
                settings.verifier_timeout,
                on_score,
                lambda each, time_limit: _supervise_nodes(run, names, each, time_limit, cluster),
            )
        with pool:
            yield pool


def _supervise_nodes(
    run: Run, verifiers: Sequence[str], each: int, time_limit: float | None, closing: ExitStack
) -> list[AnySupervisor]:
    """Return what keeps the scoring processes of a cluster, `each` for a node, once one node has shown that it can."""
    from learnable.rollouts.ray.actors import Actors
    from learnable.rollouts.ray.cluster import Cluster

    settings = run.settings
    address = getattr(settings.engine, "ray_address", None) if settings.score_on == RAY else settings.score_on
    cluster = Cluster(address)
    closing.callback(cluster.close)
    environment = {name: os.environ[name] for name in VARIABLES if name in os.environ}
    check = NodeCheck({name: find_verifier(name).version for name in verifiers}, run.conditions)
    actors = Actors(cluster, NodeScorer, (time_limit, pack_code(verifiers), environment), each)
    supervisors = [RemoteSupervisor(actors, check) for _ in range(actors.count)]
    supervisors[0].open()
    return list(supervisors)
