"""Scoring processes on the nodes of a cluster: what stands there (`NodeScorer`), and the caller's end of it.

A node scores as this machine would: a `NodeScorer` is a `Supervisor` that is called from elsewhere. A node is used
where it has loaded every verifier of the run, which for programs means that its sandbox has passed its own test, and
where their versions are the caller's. What was on its way to a node that is lost goes to another: that is no fault of
a verifier's.

What a cluster has to offer is `Nodes`; this module knows none.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from contextvars import copy_context
from tempfile import TemporaryDirectory
from typing import Any, Protocol

from learnable.data.errors import LearnableError
from learnable.data.progress import progress
from learnable.data.records import Score
from learnable.verifiers.own.packing import PackedCode, unpack_code
from learnable.verifiers.pool.jobs import ScoreJob
from learnable.verifiers.pool.supervisor import OnScore, Supervisor
from learnable.verifiers.pool.worker import LoadedVerifier

PATIENCE = 180.0  # seconds without any node before the run stops
PAUSE = 2.0  # seconds, between two looks for one
LOSSES_TOGETHER = 2  # of what several completions were on: then one at a time, since one may be what ends nodes
LOSSES_ALONE = 3


class Post(Protocol):
    """A process on a node that holds a `NodeScorer`."""

    @property
    def node(self) -> str:
        """The node, as messages name it."""

    def call(self, method: str, *arguments: Any) -> Any:
        """Return what a method of the `NodeScorer` returns. Raises `ConnectionError` where the process is lost."""

    def end(self) -> None:
        """End the process at once. May be called from any thread, and again."""


class Nodes(Protocol):
    """The nodes of a cluster, for any thread."""

    def open(self) -> Post | None:
        """Return a new process on a node that has few, None where no node lives.

        Raises `LearnableError` where all are left out.
        """

    def leave_out(self, node: str, why: str) -> None:
        """Use this node no more, and say so."""

    def note_lost(self, node: str, why: str) -> None:
        """Take note of a process that was lost before it could score: a node that loses every one is left out."""


class NodeScorer:
    """A scoring process on a node. `environment` is what verifiers there must know of the caller's."""

    def __init__(self, time_limit: float | None, code: PackedCode, environment: Mapping[str, str]) -> None:
        os.environ.update(environment)
        self._folder = TemporaryDirectory(prefix="learnable-judges-")
        unpack_code(code, self._folder.name)
        self._supervisor = Supervisor(time_limit)

    def load(self, verifier_names: Sequence[str]) -> dict[str, LoadedVerifier]:
        """Load these verifiers, and return what there is to say of them on this node."""
        return dict(self._supervisor.load(verifier_names))

    def score_first(self, jobs: Sequence[ScoreJob]) -> list[Score]:
        """Return the scores of the first jobs, as `Supervisor.score_first` does."""
        return self._supervisor.score_first(jobs)

    def close(self) -> None:
        """Let the process end by itself."""
        self._supervisor.close()
        self._folder.cleanup()


class NodeCheck:
    """Says of each node whether it judges as this machine would; `versions` are those of the run's verifiers.

    Notices of verifiers are told once, with the node, to whoever watches the run in the thread that makes this object.
    `conditions` gets those of all nodes that score, by verifier.
    """

    def __init__(self, versions: Mapping[str, str], conditions: dict[str, dict[str, str]]) -> None:
        self.versions = versions
        self.conditions = conditions
        self._context = copy_context()
        self._told: set[str] = set()
        self._lock = threading.Lock()

    def find_fault(self, node: str, loaded: Mapping[str, LoadedVerifier]) -> str:
        """Return why a node that has loaded the verifiers may not score, nothing where it may."""
        for name, version in self.versions.items():
            found = loaded[name]
            if found.fault:
                return f"verifier {name!r}: {found.fault}"
            if found.version != version:
                return f"verifier {name!r} has version {found.version} there, not {version}: install the same package"
        with self._lock:
            for name, found in loaded.items():
                self._note(node, name, found)
        return ""

    def _note(self, node: str, name: str, found: LoadedVerifier) -> None:
        if found.conditions:
            known = self.conditions.setdefault(name, {})
            known.update((key, _add(known.get(key), value)) for key, value in found.conditions.items())
        if found.notice and found.notice not in self._told:
            self._told.add(found.notice)
            self._context.run(_warn, f"node {node}: {found.notice}")


class RemoteSupervisor:
    """Keeps one scoring process on some node, as `Supervisor` keeps one here."""

    def __init__(self, nodes: Nodes, check: NodeCheck) -> None:
        self._nodes = nodes
        self._check = check
        self._post: Post | None = None
        self._killed = threading.Event()
        self._lock = threading.Lock()

    def load(self, verifier_names: Sequence[str]) -> None:
        """Start the process ahead of time. A failure is left to the first job, which meets it again."""
        with suppress(LearnableError, CancelledError):
            self.open()

    def open(self) -> Post:
        """Return the process, started on a node that can score where there is none.

        Raises `LearnableError` where no node can, and `CancelledError` once killed.
        """
        waited = 0.0
        while self._post is None:
            post = self._place()
            if post is None and waited >= PATIENCE:
                raise LearnableError(
                    f"no node of the cluster has lived for {PATIENCE:g} s, so nothing can be scored. Add nodes; what "
                    "was drawn is in the store: the same command goes on from there"
                )
            if post is None:
                self._killed.wait(PAUSE)
                waited += PAUSE
                continue
            try:
                fault = self._check.find_fault(post.node, post.call("load", list(self._check.versions)))
            except ConnectionError as lost:
                self._drop(post)
                if not self._killed.is_set():
                    self._nodes.note_lost(post.node, str(lost))
                continue
            if fault:
                self._drop(post)
                self._nodes.leave_out(post.node, fault)
        return self._post

    def score(self, jobs: Sequence[ScoreJob], on_score: OnScore) -> list[Score]:
        """Return one score for each job; `on_score` sees each as it comes.

        Raises `CancelledError` once killed, and `LearnableError` where no node can score.
        """
        scores: list[Score] = []
        losses = 0
        while len(scores) < len(jobs):
            rest = jobs[len(scores) :]
            post = self.open()
            try:
                first = post.call("score_first", rest if losses < LOSSES_TOGETHER else rest[:1])
                losses = 0
            except ConnectionError as lost:
                self._drop(post)
                losses += 1
                if losses < LOSSES_TOGETHER + LOSSES_ALONE:
                    continue
                first = [Score.unscored(f"{losses} nodes lost the scoring process on this completion: {lost}")]
            for job, score in zip(rest, first, strict=False):
                scores.append(score)
                on_score(job, score)
        return scores

    def close(self) -> None:
        """Let the process end by itself."""
        if self._post is not None:
            with suppress(ConnectionError):
                self._post.call("close")
            self._drop(self._post)

    def kill(self) -> None:
        """End the process at once and start no other. May be called while another thread waits in `score`."""
        with self._lock:
            self._killed.set()
            if self._post is not None:
                self._post.end()

    def _place(self) -> Post | None:
        with self._lock:
            if self._killed.is_set():
                raise CancelledError
            self._post = self._nodes.open()
            return self._post

    def _drop(self, post: Post) -> None:
        post.end()
        with self._lock:
            self._post = None


def _add(known: str | None, value: str) -> str:
    """Return a list of values in words, with one more."""
    return ", ".join(sorted({*(known.split(", ") if known else ()), value}))


def _warn(text: str) -> None:
    progress().warn(text)
