"""What every trainer's process does: prepare, train with metrics and checkpoints, leave a policy and a summary."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from learnable.data.errors import LearnableError
from learnable.data.storage.places import PathOrUrl
from learnable.train.child import OnEvent
from learnable.train.file_settings import read_settings
from learnable.train.live.hooks import NUMBERS_FILE, LiveSamplerWarning, is_dry
from learnable.train.monitor.records import MetricsFile, StepRecord, read_metrics
from learnable.train.monitor.watching import Alarm, Monitor
from learnable.train.preflight.resolution import TrainingRun, open_run
from learnable.train.results.report import TrainingSummary
from learnable.train.settings import TrainSettings
from learnable.train.trainers.sharding import count_weights, gather_weights, read_precision, read_switch

CHECKPOINTS = "checkpoints"
STATE = "trainer_state.json"  # of a checkpoint
POLICY_FOLDER, ADAPTER = "policy", "adapter"  # folders: the whole policy, and the adapter alone
ALARMS = "alarms"  # checkpoints of steps that raised an alarm
SUMMARY = "training.json"
REFERENCE = "ref"  # TRL's name for the copy of a given adapter as it was


def run_trainer(path: Path, make_trainer: Callable[[TrainingRun], Any], emit: OnEvent) -> None:
    """Train as the settings file says; leave the policy in `policy/` and a summary in `training.json`.

    `make_trainer` returns one of TRL's trainers. Raises `LearnableError` for settings or data that cannot work.
    """
    _use_one_gpu()
    pass_on_warnings(emit)
    run = open_run(read_settings(path))
    trainer = make_trainer(run)
    parameters = count_weights(trainer.model, trained=True)
    checkpoint = find_last_checkpoint(run.settings) if run.settings.resume else None
    done = read_step(checkpoint)
    file = run.settings.folder / "metrics.jsonl"
    earlier = [record for record in read_metrics(file) if record.step <= done] if done and file.is_file() else []
    metrics = MetricsFile(file, from_step=done) if trainer.is_world_process_zero() else None
    callback = make_callback(run, metrics, emit)
    for record in earlier:
        callback.monitor.observe(record)  # a resumed run has the start and the alarms that it had
    signal.signal(signal.SIGINT, lambda *_: callback.stop())
    trainer.add_callback(callback)
    restore_adapter(trainer, checkpoint)
    started = time.monotonic()
    steps = done
    if is_dry(checkpoint):  # it ended here, and was stopped before its policy was written
        trainer._load_from_checkpoint(str(checkpoint))
    else:
        trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
        steps = trainer.state.global_step
    if callback.stopped:
        raise KeyboardInterrupt
    save_policy(trainer, run)
    if metrics is not None:
        metrics.close()
        summary = TrainingSummary(
            steps=steps,
            resumed_from=done,
            trained_parameters=parameters,
            learning_rate=trainer.args.learning_rate,
            seconds=round(time.monotonic() - started, 2),
            ran_dry=is_dry(find_last_checkpoint(run.settings)),
        )
        summary.write(run.settings.folder / SUMMARY)


def pass_on_warnings(emit: OnEvent) -> None:
    """Emit what the live sampler warns of, from now on; other warnings are shown as before, in the run's log."""
    show = warnings.showwarning

    def pass_on(message: Warning | str, category: type[Warning], *place: Any, **rest: Any) -> None:
        if issubclass(category, LiveSamplerWarning):
            emit({"event": "warning", "message": str(message)})
        else:
            show(message, category, *place, **rest)

    warnings.showwarning = pass_on


class TrainingWatch:
    """Writes metrics, and emits a `step` event for each log and a `warning` event for each alarm of the monitor.

    `stop()` asks for a checkpoint and an end after the current step; `stopped` says that this happened.
    """

    def __init__(self, run: TrainingRun, metrics: MetricsFile | None, emit: OnEvent) -> None:
        self.settings, self.metrics, self.emit = run.settings, metrics, emit
        self.monitor = Monitor(run.rules)
        self.keeps_checkpoint = False
        self.stopping = False
        self.stopped = False

    def stop(self) -> None:
        """Ask for an end in good order. Safe to call from a signal handler."""
        self.stopping = True

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """End training if `stop` was called; the trainer writes the checkpoint."""
        if self.stopping and state.global_step < state.max_steps:
            self.stopped = control.should_save = control.should_training_stop = True

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, float] | None = None, **_: Any) -> None:
        """Keep what the trainer logged, and do what the settings say where that raises an alarm.

        `metrics` is None in all processes but the first. All watch, so that all stop at the same step. Raises
        `LearnableError` for an alarm of severity `error`.
        """
        record = StepRecord.from_logs(state.global_step, logs or {})
        if self.settings.reward_range:  # what is kept is from 0 to 1, as what is held out is
            record = record.mapped_back(*self.settings.reward_range)
        if not (record.is_look or {"reward", "loss"} & set(record.metrics)):
            return
        if self.metrics is not None:
            self.metrics.write(record)
        if not record.is_look:
            done, total = state.global_step, state.max_steps
            self.emit({"event": "step", "done": done, "total": total, "metrics": record.to_json()})
        for alarm in self.monitor.observe(record):
            self._answer(alarm, control)

    def _answer(self, alarm: Alarm, control: Any) -> None:
        """Say what happened; stop the run, or have a checkpoint kept, where the settings ask for it."""
        if alarm.severity == "error":
            raise LearnableError(alarm.line)
        self.emit({"event": "warning", "message": alarm.line})
        if self.settings.on_alarm == "checkpoint":
            self.keeps_checkpoint = control.should_save = True
        elif self.settings.on_alarm == "stop" and alarm.severity == "stop":
            control.should_save = control.should_training_stop = True
            self.emit({"event": "warning", "message": f"step {alarm.step}: stopped by alarm {alarm.rule} (`on_alarm`)"})

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Keep the checkpoint of an alarm where the trainer, which keeps the last two alone, does not delete it."""
        if self.keeps_checkpoint and self.metrics is not None:
            name = f"checkpoint-{state.global_step}"
            keep_files(self.settings.folder / CHECKPOINTS / name, self.settings.folder / ALARMS / name)
        self.keeps_checkpoint = False


def keep_files(folder: Path, kept: Path) -> None:
    """Give the files of a folder a second name in another, or copy them where the file system has no such names."""

    def link(source: str, target: str) -> None:
        try:
            os.link(source, target)
        except OSError:
            shutil.copy2(source, target)

    shutil.copytree(folder, kept, copy_function=link, dirs_exist_ok=True)


def make_callback(run: TrainingRun, metrics: MetricsFile | None, emit: OnEvent) -> Any:
    """Return a `TrainingWatch` that is a `TrainerCallback` too: made here because that base loads transformers."""
    from transformers import TrainerCallback

    class Callback(TrainingWatch, TrainerCallback):
        pass

    return Callback(run, metrics, emit)


def make_training_options(settings: TrainSettings) -> dict[str, object]:
    """Return the options of every trainer of TRL's. An unset learning rate is filled in once the policy is loaded."""
    import torch

    cuda = torch.cuda.is_available()
    pass_size = settings.micro_batch_size or settings.step_size // read_world_size()
    return {
        "output_dir": str(settings.folder / CHECKPOINTS),
        "max_steps": settings.steps,
        "per_device_train_batch_size": pass_size,
        "gradient_accumulation_steps": settings.step_size // (pass_size * read_world_size()),
        "learning_rate": settings.learning_rate or 0.0,
        "lr_scheduler_type": "constant_with_warmup",
        "warmup_steps": settings.warmup_steps,
        "seed": settings.seed,
        "use_cpu": not cuda,
        "bf16": read_precision() == "bf16" if settings.accelerate_config else cuda and torch.cuda.is_bf16_supported(),
        "gradient_checkpointing": cuda and not read_switch("FSDP_ACTIVATION_CHECKPOINTING"),
        "logging_steps": 1,
        "disable_tqdm": True,
        "report_to": settings.report_to,
        "save_steps": settings.save_steps,
        "save_total_limit": 2,
    }


def read_world_size() -> int:
    """Return how many training processes a launcher started; 1 without a launcher."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def choose_weight_type(run: TrainingRun, config: Any) -> str:
    """Return the type to load weights in: adapters train over frozen bf16 weights, full training needs float32."""
    return "bfloat16" if run.trains_adapter and config.bf16 else "float32"


def load_texts(table: pa.Table, columns: Sequence[str], settings: TrainSettings) -> Any:
    """Return columns of a part as TRL's trainers on stored completions read them: prompts, and what answers them."""
    from datasets import Dataset

    rows = Dataset(table.select(list(columns)).combine_chunks())
    if template_args := settings.sampling.template_args:  # TRL reads them row by row
        rows = rows.add_column("chat_template_kwargs", [dict(template_args)] * len(rows))
    return rows


def load_policy(run: TrainingRun, weight_type: str) -> Any:
    """Load what is trained: a whole model, or a LoRA adapter over its base, which stays as it is.

    Raises `LearnableError` for a policy whose config names a repository of the hub to run its attention from.
    """
    from transformers import AutoConfig

    config = AutoConfig.from_pretrained(run.policy.path, trust_remote_code=False)
    for part in (config, *(getattr(config, name, None) for name in config.sub_configs)):
        if "/" in (kernel := str(getattr(part, "_attn_implementation", None))):
            raise LearnableError(
                f"policy {run.policy.path!r}: attn_implementation = {kernel!r} of its config.json is code of the hub, "
                "and a policy is data: remove the key"
            )
    model = load_base(run.policy.path, weight_type)
    return load_adapter(model, run.policy.adapter) if run.policy.adapter else model


def load_base(path: str, weight_type: str) -> Any:
    """Load a whole model, without an adapter."""
    from trl.trainer.utils import create_model_from_path

    return create_model_from_path(path, dtype=weight_type, trust_remote_code=False)


def load_adapter(model: Any, folder: PathOrUrl) -> Any:
    """Return a model with the LoRA adapter of a folder, which is trained on."""
    from peft import PeftModel

    return PeftModel.from_pretrained(model, str(folder), is_trainable=True)


def restore_adapter(trainer: Any, checkpoint: Path | None) -> None:
    """Load a checkpoint's adapter where TRL has a copy of it as it was: transformers then loads that copy alone."""
    model = trainer.accelerator.unwrap_model(trainer.model)
    if trainer.is_fsdp_enabled:  # whose checkpoints have shards of the trained adapter, and that is loaded
        return
    if checkpoint and REFERENCE in getattr(model, "peft_config", {}):
        model.load_adapter(str(checkpoint), model.active_adapter, is_trainable=True)


def make_lora_config(rank: int) -> Any:
    """Return LoRA on every linear layer but the head, where TRL forbids it."""
    from peft import LoraConfig

    return LoraConfig(r=rank, lora_alpha=2 * rank, target_modules="all-linear", task_type="CAUSAL_LM")


def save_policy(trainer: Any, run: TrainingRun) -> None:
    """Write the trained policy and its tokenizer where vLLM and transformers can load it; adapters are merged in.

    What is sharded is gathered first, so all processes have to call it.
    """
    folder = run.settings.folder
    target, partial = folder / POLICY_FOLDER, folder / f".{POLICY_FOLDER}.partial"
    weights = gather_weights(trainer)
    if not trainer.is_world_process_zero():
        return
    shutil.rmtree(partial, ignore_errors=True)
    model = trainer.accelerator.unwrap_model(trainer.model)
    if adapters := getattr(model, "peft_config", {}):
        if REFERENCE in adapters:
            model.delete_adapter(REFERENCE)
        model.save_pretrained(folder / ADAPTER, state_dict=weights)
        trainer.processing_class.save_pretrained(folder / ADAPTER)
        if weights is not None:  # what is sharded cannot be merged by one process
            model = load_adapter(load_base(run.policy.path, choose_weight_type(run, trainer.args)), folder / ADAPTER)
        model.merge_and_unload().save_pretrained(partial)
    else:
        model.save_pretrained(partial, state_dict=weights)
    trainer.processing_class.save_pretrained(partial)
    shutil.rmtree(target, ignore_errors=True)
    partial.rename(target)


def find_last_checkpoint(settings: TrainSettings) -> Path | None:
    """Return the newest checkpoint of a run that was written to its end, or None.

    The trainer's state is what transformers writes last, and the live sampler's what we write after it: a process that
    is killed leaves either of them out, or a part of the first.
    """
    last = NUMBERS_FILE if settings.has_sampler_state else STATE
    checkpoints = [path for path in (settings.folder / CHECKPOINTS).glob("checkpoint-*") if (path / last).is_file()]
    return max((path for path in checkpoints if _is_json(path / STATE)), key=read_step, default=None)


def _is_json(file: Path) -> bool:
    try:
        json.loads(file.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return False
    return True


def read_step(checkpoint: Path | None) -> int:
    """Return the step at which a checkpoint was written, 0 for none."""
    return int(checkpoint.name.rpartition("-")[2]) if checkpoint else 0


def count_epochs(checkpoint: Path | None) -> int:
    """Return how many times a run had gone through its prompts at a checkpoint, 0 for none."""
    return int(json.loads((checkpoint / STATE).read_text(encoding="utf-8"))["epoch"]) if checkpoint else 0


def _use_one_gpu() -> None:
    """Hide all GPUs but the first unless a launcher gave this process its own: TRL refuses `DataParallel`."""
    if "WORLD_SIZE" not in os.environ:
        visible = os.environ.get("CUDA_VISIBLE_DEVICES", "0")
        os.environ["CUDA_VISIBLE_DEVICES"] = visible.split(",")[0]
