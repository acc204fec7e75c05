"""The callback that carries a training run's metrics, worries and wish to stop."""

from __future__ import annotations

from typing import Any

from learnable.train.child import OnEvent
from learnable.train.monitoring.monitor import MetricsFile, TrainingMonitor, metrics_record


class Watch:
    """Writes metrics and emits a `step` event a log and a `warning` a worry.

    `stop()` asks for a checkpoint and an end after the current step; `stopped` says that this happened.
    """

    def __init__(self, metrics: MetricsFile | None, emit: OnEvent) -> None:
        self.metrics, self.emit = metrics, emit
        self.monitor = TrainingMonitor()
        self.stopping = False
        self.stopped = False

    def stop(self) -> None:
        """Ask for an end in good order. Safe to call from a signal handler."""
        self.stopping = True

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """End training if asked to; the trainer writes the checkpoint."""
        if self.stopping and state.global_step < state.max_steps:
            self.stopped = control.should_save = control.should_training_stop = True

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **_: Any) -> None:
        """Keep what the trainer logged; `metrics` is None in all processes but the first."""
        record = metrics_record(state.global_step, logs or {})
        if self.metrics is None or not {"reward", "eval_reward", "loss"} & set(record):
            return
        self.metrics.write(record)
        if "eval_reward" not in record:
            self.emit({"event": "step", "done": state.global_step, "total": state.max_steps, "metrics": record})
        for worry in self.monitor.observe(record):
            self.emit({"event": "warning", "message": f"step {state.global_step}: {worry}"})


def make_callback(metrics: MetricsFile | None, emit: OnEvent) -> Any:
    """Return a `Watch` that is a `TrainerCallback` too. The class is made here because its base loads transformers."""
    from transformers import TrainerCallback

    class Callback(Watch, TrainerCallback):
        pass

    return Callback(metrics, emit)
