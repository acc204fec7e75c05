"""What surrounds a scheduled run."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from learnable.data.errors import LearnableError
from learnable.flows.scheduling import runs


@pytest.mark.parametrize("attempt", [runs.MAX_ATTEMPTS, runs.MAX_ATTEMPTS + 1])
def test_a_run_that_dies_again_and_again_is_given_up(monkeypatch: pytest.MonkeyPatch, attempt: int) -> None:
    context = SimpleNamespace(flow_run=SimpleNamespace(deployment_id="nightly", run_count=attempt))
    monkeypatch.setattr(runs.FlowRunContext, "get", lambda: context)
    monkeypatch.setattr(runs, "drop_missed_runs", lambda deployment: 0)
    if attempt > runs.MAX_ATTEMPTS:
        with pytest.raises(LearnableError, match="started 5 times and came to no end"), runs.scheduled_run():
            pytest.fail("it ran")
        return
    with runs.scheduled_run():
        pass
