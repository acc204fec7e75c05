"""A small run in this process: scripted answers, several chunks, and books of what was handed over."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from learnable.data.policies import find_policy
from learnable.data.records import Sampling
from learnable.filters.stopping.budget import SamplingBudget
from learnable.flows.curation.pipeline import run_curation
from learnable.flows.curation.report import CurationReport
from learnable.flows.engines import use_engine
from learnable.flows.settings import CurateSettings, PromptSettings
from learnable.rollouts.protocol import Answer, GroupRequest
from learnable.rollouts.scripted import ScriptedEngine

SCRIPT = {"always": ["yes"], "never": ["no"], **{f"sometimes {i}": ["yes", "no"] for i in range(6)}}
GROUP_SIZE = 4
ROLLOUTS = GROUP_SIZE * len(SCRIPT)


class PaidEngine(ScriptedEngine):
    """Notes the rollouts of each group when it is asked for the next one. `stop_after` groups, Ctrl-C."""

    policy_id = ""

    def __init__(self, policy_id: str, stop_after: int | None = None) -> None:
        super().__init__(SCRIPT)
        self.policy_id = policy_id
        self.stop_after = stop_after
        self.paid: list[str] = []

    def generate(self, requests: Iterable[GroupRequest], sampling: Sampling) -> Iterator[Answer]:
        for number, answer in enumerate(super().generate(requests, sampling)):
            if number == self.stop_after:
                raise KeyboardInterrupt
            yield answer
            if isinstance(answer, list):
                self.paid.extend(rollout.rollout_id for rollout in answer)


def small_settings(folder: Path, group_size: int = GROUP_SIZE) -> CurateSettings:
    """Return the settings of the small run in `folder`, with its prompts and policy written there."""
    policy, questions = folder / "policy", folder / "questions.jsonl"
    if not policy.exists():
        policy.mkdir(parents=True)
        (policy / "config.json").write_text("{}")
        (policy / "model.safetensors").write_bytes(b"weights")
        rows = [{"prompt": text, "answer": "yes", "verifier": "choice"} for text in SCRIPT]
        questions.write_text("\n".join(json.dumps(row) for row in rows))
    return CurateSettings(
        prompts=PromptSettings(location=str(questions)),
        policy=str(policy),
        store=str(folder / "store"),
        group_size=group_size,
        budget=SamplingBudget("fixed"),
        workers=0,
        wait=False,
        test_share=0.25,
    )


def engine_of(settings: CurateSettings, stop_after: int | None = None) -> PaidEngine:
    return PaidEngine(find_policy(settings.policy).policy_id, stop_after)


def run_small(settings: CurateSettings, engine: PaidEngine | None = None) -> CurationReport:
    """Run to the end."""
    with use_engine(engine or engine_of(settings), settings):
        return run_curation(settings)
