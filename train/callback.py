"""The callback that carries a training run's metrics, worries and wish to stop."""

from __future__ import annotations

from typing import Any

from learnable.train.child import OnEvent
from learnable.train.monitor import MetricsFile, TrainingMonitor, metrics_record


def make_callback(metrics: MetricsFile | None, emit: OnEvent) -> Any:
    """Return a `TrainerCallback` that writes metrics and emits a `step` event a log and a `warning` a worry.

    Its `stop()` asks for a checkpoint and an end after the current step; `stopped` says that this happened.
    The class is made here because its base class loads transformers.
    """
    from transformers import TrainerCallback

    class Watch(TrainerCallback):  # type: ignore[misc]
        def __init__(self) -> None:
            self.monitor = TrainingMonitor()
            self.stopping = False
            self.stopped = False

        def stop(self) -> None:
            self.stopping = True

        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if self.stopping and state.global_step < state.max_steps:
                self.stopped = control.should_save = control.should_training_stop = True

        def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **_: Any) -> None:
            record = metrics_record(state.global_step, logs or {})
            if metrics is None or len(record) < 3:
                return
            metrics.write(record)
            if "eval_reward" not in record:
                emit({"event": "step", "done": state.global_step, "total": state.max_steps, "metrics": record})
            for worry in self.monitor.observe(record):
                emit({"event": "warning", "message": f"step {state.global_step}: {worry}"})

    return Watch()
