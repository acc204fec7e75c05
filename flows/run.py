"""One run: what was asked, of which policy, into which store."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import UTC, datetime

from learnable.data.ledger.ledger import Draw
from learnable.data.policies import Policy
from learnable.data.store import Store
from learnable.flows.settings import CurateSettings


@dataclass(frozen=True, slots=True)
class Run:
    """One run: its id, what was asked, the policy that answers, and the store it writes."""

    run_id: str
    settings: CurateSettings
    policy: Policy
    store: Store

    @property
    def draw(self) -> Draw:
        """What the rollouts of this run share."""
        return Draw(self.policy.policy_id, self.settings.sampling)


def new_run_id() -> str:
    """Return an id that sorts by time."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{uuid.uuid4().hex[:6]}"
