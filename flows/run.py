"""One run: its settings, the policy that answers, and the store, in which it alone writes that policy's rows."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime

from learnable.data.ledger.ledger import Draw
from learnable.data.policies import Policy
from learnable.data.progress import progress
from learnable.data.store import Store
from learnable.flows.engines import policy_for
from learnable.flows.settings import CurateSettings


@dataclass(frozen=True, slots=True)
class Run:
    """One run: its id, its settings, the policy that answers, and the store that it writes.

    `named` has the families and components of rewards that somebody was told of: see `ComponentWatch`. `conditions` has
    what verifiers say of the nodes of a cluster that they ran on, by verifier.
    """

    run_id: str
    settings: CurateSettings
    policy: Policy
    store: Store
    named: set[tuple[str, str]] = field(default_factory=set, compare=False)
    conditions: dict[str, dict[str, str]] = field(default_factory=dict, compare=False)

    @property
    def draw(self) -> Draw:
        """What the rollouts of this run share."""
        return Draw(self.policy.policy_id, self.settings.sampling)


def start_run(settings: CurateSettings, policy: Policy, store: Store) -> Run:
    """Return a new run in a store that is locked."""
    return Run(new_run_id(), settings, policy, store)


def new_run_id() -> str:
    """Return an id that sorts by time."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{uuid.uuid4().hex[:6]}"


# A flow's parameters must be plain data, so the stores that the command line has locked travel beside them: each with
# the folder of the draw that is locked in it, "" for all.
_locked: ContextVar[dict[tuple[str, str], Store] | None] = ContextVar("locked", default=None)


@contextmanager
def locked_store(
    settings: CurateSettings, policy: Policy | None = None, *, whole: bool = False, wait: float | None = None
) -> Iterator[Store]:
    """Lock a part of the run's store for writing inside the block, or the `whole` of it.

    The part is that of the policy, by default the one that the settings name, under their sampling. Inside another such
    block of this run for the same part, or for the whole, it is the same store. `wait` is for how many seconds at
    most, None for as long as it takes. Raises `LearnableError` where it cannot be locked or written, or is
    in use for longer, or at all where the settings say not to wait.
    """
    draw = None if whole else Draw((policy or policy_for(settings)).policy_id, settings.sampling)
    outer, key = _locked.get() or {}, (settings.store, draw.folder if draw else "")
    if store := outer.get(key) or outer.get((settings.store, "")):
        yield store
        return
    store = Store(settings.store)
    with store.hold(draw, wait=wait if settings.wait else 0, on_wait=progress().note):
        token = _locked.set({**outer, key: store})
        try:
            yield store
        finally:
            _locked.reset(token)
