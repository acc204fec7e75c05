"""The training stage: checks, held-out reward before, GRPO, held-out reward after, curve, report."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from shlex import quote
from typing import TypeVar

from learnable.data.errors import InterruptedRunError
from learnable.data.policies import find_policy
from learnable.data.progress import Progress
from learnable.train.child import Event, run_stage
from learnable.train.monitoring.forecast_check import compare_with_logs, foresee
from learnable.train.monitoring.monitor import read_metrics
from learnable.train.preflight.checks import PreparedRun, prepare_run
from learnable.train.results.comparison import compare_parts, find_earlier_runs
from learnable.train.results.evaluation import Evaluation, EvaluationSettings, read_evaluation
from learnable.train.results.report import TrainReport, compare, compare_families
from learnable.train.settings import TrainSettings
from learnable.train.trainers.trainer import POLICY, SUMMARY, checkpoint_step, last_checkpoint

Result = TypeVar("Result")


def train_curated(settings: TrainSettings, watcher: Progress) -> TrainReport:
    """Train on a curated set and measure held-out reward before and after.

    The output folder gets `policy/` (loadable as it is), `checkpoints/`, `metrics.jsonl`, `curve.png`, `report.json`
    and the log of each stage. Raises `LearnableError` for settings or data that cannot work, before anything heavy
    starts, and for a stage that failed; `InterruptedRunError` after Ctrl-C, with the way to go on.
    """
    run = prepare_run(settings)
    return _Stage(run, watcher).report()


class _Stage:
    """One run's stages. Each leaves a file, by which a resumed run knows that it is done."""

    def __init__(self, run: PreparedRun, watcher: Progress) -> None:
        self.run, self.watcher = run, watcher
        self.settings, self.folder = run.settings, run.settings.folder
        self.warnings = list(run.warnings)
        self.seconds: dict[str, float] = {}
        self.foresight = foresee(run.curated, run.settings)

    def report(self) -> TrainReport:
        for note in self.run.notes:
            self.watcher.note(note)
        for warning in self.run.warnings:
            self.watcher.warn(warning)
        self.settings.write(self.folder / "settings.json")
        try:
            before = self._timed("evaluate_before", lambda: self._evaluate("before", self.run.policy.path))
            if self.foresight:
                self.watcher.note(self.foresight.sentence)
            self._timed("train", self._train)
            self._look_back()
            after = self._timed("evaluate_after", lambda: self._evaluate("after", str(self.folder / POLICY)))
        except (InterruptedRunError, KeyboardInterrupt) as stop:
            raise InterruptedRunError(self._how_to_go_on()) from stop
        report = self._report(before, after)
        self._timed("curve", lambda: self._draw(report))
        report.write(self.folder / "report.json")
        return report

    def _evaluate(self, name: str, policy: str) -> Evaluation | None:
        if not self.settings.evaluate:
            return None
        settings = EvaluationSettings(
            curated=str(self.run.curated.path),
            policy=policy,
            sampling=self.settings.sampling,
            group_size=self.settings.eval_group_size,
            seed=self.settings.seed,
            limit=self.settings.eval_limit,
            families=self.settings.families,
            output=str(self.folder / f"{name}.json"),
        )
        file = self.folder / f"{name}-settings.json"
        if (found := self._finished(settings, file)) is not None:
            self.watcher.note(f"held-out reward {name} training is there already")
            return found
        self.watcher.stage(f"Held-out reward {name} training")
        settings.write(file)
        self._run("learnable.train.results.evaluation", file, f"{name}.log")
        return read_evaluation(Path(settings.output))

    def _finished(self, settings: EvaluationSettings, file: Path) -> Evaluation | None:
        """Return an evaluation that an earlier attempt finished with these settings and this very policy."""
        if not Path(settings.output).is_file() or json.loads(file.read_text(encoding="utf-8")) != settings.as_json():
            return None
        found = read_evaluation(Path(settings.output))
        return found if found.policy_id == find_policy(settings.policy).policy_id else None

    def _train(self) -> None:
        if self._trained_steps() >= self.settings.steps:
            self.watcher.note(f"training is done already: {self._trained_steps()} steps")
            return
        settings = self.settings
        group = "" if settings.method == "sft" else f" x {settings.num_generations} completions"
        self.watcher.stage(
            f"{settings.method.upper()}: {settings.steps} steps of {settings.prompts_per_step} prompts{group}"
        )
        done = checkpoint_step(last_checkpoint(self.folder)) if self.settings.resume else 0
        if done:
            self.watcher.note(f"going on from step {done}")
        self._run(
            f"learnable.train.trainers.{settings.method}", self.folder / "settings.json", "train.log", settings.num_processes
        )

    def _look_back(self) -> None:
        """Say what the first steps measured of what was forecast."""
        if self.foresight:
            self.foresight = compare_with_logs(self.foresight, read_metrics(self.folder / "metrics.jsonl"))
            self.watcher.note(self.foresight.sentence)

    def _trained_steps(self) -> int:
        summary = self.folder / SUMMARY
        return int(json.loads(summary.read_text(encoding="utf-8"))["steps"]) if summary.is_file() else 0

    def _run(self, module: str, file: Path, log: str, processes: int = 1) -> None:
        run_stage(module, file, self.folder / "logs" / log, self._hear, processes=processes)

    def _hear(self, event: Event) -> None:
        match event:
            case {"event": "step", "done": done, "total": total, "metrics": metrics}:
                self.watcher.step(done, total, metrics)
            case {"event": "rollouts", "done": done, "total": total, "tokens": tokens}:
                self.watcher.rollouts(done, total, tokens)
            case {"event": "warning", "message": message}:
                self.warnings.append(message)
                self.watcher.warn(message)
            case {"event": "note", "message": message}:
                self.watcher.note(message)

    def _report(self, before: Evaluation | None, after: Evaluation | None) -> TrainReport:
        settings = self.settings
        held_out, families = None, {}
        if before and after:
            held_out = compare(
                before, after, k=settings.eval_k, group_size=settings.eval_group_size, seed=settings.seed
            )
            families = compare_families(before, after, settings.seed)
        earlier = find_earlier_runs(settings, str(self.run.curated.path), self.run.policy.policy_id) if held_out else []
        return TrainReport(
            curated=str(self.run.curated.path),
            policy=self.run.policy.path,
            policy_id=self.run.policy.policy_id,
            trained_policy=str(self.folder / POLICY),
            settings=asdict(settings),
            training=json.loads((self.folder / SUMMARY).read_text(encoding="utf-8")),
            held_out=held_out,
            families=families,
            verdict=held_out.verdict if held_out else "held-out reward was not measured",
            warnings=tuple(self.warnings),
            seconds=self.seconds,
            metrics=str(self.folder / "metrics.jsonl"),
            curve=str(self.folder / "curve.png"),
            foresight=self.foresight,
            comparisons=tuple(
                compare_parts(settings, before, after, run) for run in earlier if before and after and not run.differs
            ),
            not_compared=tuple(run.objection for run in earlier if run.differs),
        )

    def _draw(self, report: TrainReport) -> None:
        from learnable.train.results.curve import draw_curve

        draw_curve(read_metrics(Path(report.metrics)), report.held_out, Path(report.curve))

    def _timed(self, name: str, stage: Callable[[], Result]) -> Result:
        started = time.monotonic()
        try:
            return stage()
        finally:
            self.seconds[name] = round(time.monotonic() - started, 2)

    def _how_to_go_on(self) -> str:
        step = checkpoint_step(last_checkpoint(self.folder))
        kept = f"the checkpoint of step {step} is kept" if step else "no checkpoint was due yet"
        return f"stopped: {kept}; go on with learnable train --curated {quote(self.settings.curated)} --output {quote(str(self.folder))} --resume"
