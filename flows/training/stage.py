"""The training stage: checks, held-out reward before, GRPO, held-out reward after, curve, report."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from shlex import quote
from typing import TypeVar

from learnable.data.curated.curated_set import open_curated
from learnable.data.errors import InterruptedRunError
from learnable.data.progress import Progress
from learnable.flows.settings.evaluation import find_set_store
from learnable.train.child import Event, run_stage
from learnable.train.monitor.forecast import add_measured
from learnable.train.monitor.records import find_first_reach, read_metrics, total_epochs, write_table
from learnable.train.monitor.watching import find_alarms
from learnable.train.preflight.checks import PreparedRun
from learnable.train.preflight.prepared import take_prepared
from learnable.train.results.comparison import compare, compare_families, compare_held_out_parts
from learnable.train.results.earlier_runs import compare_parts, find_earlier_runs
from learnable.train.results.evaluation import (
    Evaluation,
    EvaluationSettings,
    evaluation_file,
    is_measured,
    read_evaluation,
    settings_file,
)
from learnable.train.results.report import TrainingReport, TrainingSummary
from learnable.train.settings import TrainSettings
from learnable.train.trainers.trainer import POLICY_FOLDER, SUMMARY, find_last_checkpoint, read_step

Result = TypeVar("Result")


def run_training(settings: TrainSettings, watcher: Progress) -> TrainingReport:
    """Train on a curated set and measure held-out reward before and after.

    The output folder gets `policy/` (loadable as it is), `checkpoints/`, `metrics.jsonl`, `metrics.parquet`,
    `curve.png`, `report.json` and the log of each stage. Raises `LearnableError` for settings or data that cannot work,
    before anything heavy starts, and for a stage that failed; `InterruptedRunError` after Ctrl-C, with the way to go
    on.
    """
    return _Stage(take_prepared(settings), watcher).run_all()


class _Stage:
    """The stages of one run. Each leaves a file that tells a resumed run that the stage is done."""

    def __init__(self, run: PreparedRun, watcher: Progress) -> None:
        self.run, self.watcher = run, watcher
        self.settings, self.folder = run.settings, run.settings.folder
        self.warnings = list(run.warnings)
        self.seconds: dict[str, float] = {}
        self.forecast = run.forecast

    def run_all(self) -> TrainingReport:
        for note in self.run.notes:
            self.watcher.note(note)
        for warning in self.run.warnings:
            self.watcher.warn(warning)
        self.settings.write(self.folder / "settings.json")
        try:
            before = self._time("evaluate_before", lambda: self._evaluate("before", self.run.policy.name))
            if self.forecast:
                self.watcher.note(self.forecast.sentence)
            self._time("train", self._train)
            self._compare_forecast()
            write_table(read_metrics(self.folder / "metrics.jsonl"), self.folder / "metrics.parquet")
            after = self._time("evaluate_after", lambda: self._evaluate("after", str(self.folder / POLICY_FOLDER)))
            report = self._make_report(before, after)
            self._time("curve", lambda: self._draw(report))
            report.write(self.folder / "report.json")
        except (InterruptedRunError, KeyboardInterrupt) as stop:
            raise InterruptedRunError(self._explain_resume()) from stop
        return report

    def _evaluate(self, name: str, policy: str) -> Evaluation | None:
        if not self.settings.evaluate:
            return None
        settings = EvaluationSettings(
            curated=self.settings.measured_on or str(self.run.curated.path),
            policy=policy,
            sampling=self.settings.sampling,
            group_size=self.settings.eval_group_size,
            seed=self.settings.seed,
            limit=self.settings.eval_limit,
            families=self.settings.families,
            held_out=self.settings.held_out,
            engine_options=self.settings.engine_options or {},
            output=str(evaluation_file(self.folder, name)),
            store=self._find_store(),
        )
        file, output = settings_file(self.folder, name), Path(settings.output)
        if is_measured(settings, file):
            self.watcher.note(f"held-out reward {name} training is there already")
        else:
            output.unlink(missing_ok=True)  # it is of other settings than those that are written now
            settings.write(file)
            self.watcher.stage(f"Held-out reward {name} training")
            self._run("learnable.flows.evaluating.process", file, f"{name}.log")
        return read_evaluation(output)

    def _find_store(self) -> str:
        """Return the store that the measured set lies in, and not its copy on this machine; empty for none."""
        return find_set_store(open_curated(self.settings.measured_on or self.settings.curated).path) or ""

    def _train(self) -> None:
        if (done := self._read_summary()) and (done.ran_dry or done.steps >= self.settings.steps):
            self.watcher.note(f"training is done already: {done.steps} steps")
            return
        settings = self.settings
        each = f"prompts x {settings.num_generations} completions" if settings.method == "grpo" else settings.rows_part
        self.watcher.stage(f"{settings.method.upper()}: {settings.steps} steps of {settings.prompts_per_step} {each}")
        if step := read_step(find_last_checkpoint(self.settings)) if self.settings.resume else 0:
            self.watcher.note(f"going on from step {step}")
        self._run(
            f"learnable.train.trainers.{settings.method}",
            self.folder / "settings.json",
            "train.log",
            settings.num_processes,
            settings.accelerate_config,
        )
        if (ended := self._read_summary()) and ended.ran_dry and ended.steps < settings.steps:
            self.watcher.note(
                f"the prompts have run dry: training ended at step {ended.steps} of {settings.steps}, where fewer "
                "than a quarter of the last groups had any spread"
            )

    def _compare_forecast(self) -> None:
        """Tell the forecast and what the first steps measured."""
        if self.forecast:
            self.forecast = add_measured(self.forecast, read_metrics(self.folder / "metrics.jsonl"))
            self.watcher.note(self.forecast.sentence)

    def _read_summary(self) -> TrainingSummary | None:
        summary = self.folder / SUMMARY
        return TrainingSummary.read(summary) if summary.is_file() else None

    def _run(self, module: str, file: Path, log: str, processes: int = 1, accelerate_config: str = "") -> None:
        path = self.folder / "logs" / log
        run_stage(module, file, path, self._pass_on, processes=processes, accelerate_config=accelerate_config)

    def _pass_on(self, event: Event) -> None:
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

    def _make_report(self, before: Evaluation | None, after: Evaluation | None) -> TrainingReport:
        settings = self.settings
        held_out, parts, families = None, {}, {}
        if before and after:
            k, group_size, seed = settings.eval_k, settings.eval_group_size, settings.seed
            held_out = compare(before, after, k=k, group_size=group_size, seed=seed)
            parts = compare_held_out_parts(before, after, k=k, group_size=group_size, seed=seed)
            families = compare_families(before, after, settings.seed)
        records = read_metrics(self.folder / "metrics.jsonl")
        earlier = find_earlier_runs(settings, str(self.run.curated.path), self.run.policy.policy_id) if held_out else []
        return TrainingReport(
            curated=str(self.run.curated.path),
            policy=self.run.policy.name,
            policy_id=self.run.policy.policy_id,
            trained_policy=str(self.folder / POLICY_FOLDER),
            settings=settings,
            training=TrainingSummary.read(self.folder / SUMMARY),
            held_out=held_out,
            families=families,
            verdict=held_out.verdict if held_out else "held-out reward was not measured",
            warnings=tuple(self.warnings),
            seconds=self.seconds,
            metrics=str(self.folder / "metrics.jsonl"),
            curve=str(self.folder / "curve.png"),
            forecast=self.forecast,
            comparisons=tuple(
                compare_parts(settings, before, after, run) for run in earlier if before and after and not run.differs
            ),
            held_out_parts=parts,
            not_compared=tuple(run.objection for run in earlier if run.differs),
            alarms=tuple(find_alarms(self.run.rules, records)),
            epochs=tuple(total_epochs(records)),
            reached={f"{share:g}": find_first_reach(records, share) for share in settings.reach},
        )

    def _draw(self, report: TrainingReport) -> None:
        from learnable.train.results.curve import draw_curve

        draw_curve(read_metrics(Path(report.metrics)), report.held_out, Path(report.curve))

    def _time(self, name: str, stage: Callable[[], Result]) -> Result:
        started = time.monotonic()
        try:
            return stage()
        finally:
            self.seconds[name] = round(time.monotonic() - started, 2)

    def _explain_resume(self) -> str:
        step = read_step(find_last_checkpoint(self.settings))
        kept = f"the checkpoint of step {step} is kept" if step else "no checkpoint was due yet"
        command = (
            f"learnable train --curated {quote(self.settings.curated)} --output {quote(str(self.folder))} --resume"
        )
        return f"stopped: {kept}; go on with {command}"
