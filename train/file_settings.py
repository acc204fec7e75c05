"""Settings of training from files: plain values, and nothing that names code, a host, a place to upload to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from learnable.data.errors import LearnableError, nearest_names
from learnable.data.records import JsonObject
from learnable.train.settings import TrainSettings

# Texts and tables that choose among what TRL and vLLM have. Any other may name a class, a file or a host.
PLAIN_TEXTS = frozenset(
    """
    dtype kv_cache_dtype lr_scheduler_type optim loss_type importance_sampling_level multi_objective_aggregation
    vllm_importance_sampling_mode f_divergence_type train_sampling_strategy truncation_mode packing_strategy
    logging_strategy save_strategy
    """.split()
)
# Switches and numbers that let code of others run, or send something away.
NOT_PLAIN = ("trust_remote_code", "push_to_hub", "hub_", "hf_token", "trackio_", "vllm_server_", "log_completions")


def read_settings(path: Path | str) -> TrainSettings:
    """Read settings that `write` or a user wrote. Raises `LearnableError` for an unknown or missing key."""
    try:
        values = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise LearnableError(f"settings file {str(path)!r} cannot be read: {error.strerror}") from error
    except json.JSONDecodeError as error:
        raise LearnableError(f"settings file {str(path)!r} is not valid JSON: {error}") from error
    return make_settings(values, f"settings file {str(path)!r}")


def make_settings(values: JsonObject, where: str) -> TrainSettings:
    """Return settings from plain data, lists for tuples. Raises `LearnableError` for an unknown or missing key."""
    known = [one.name for one in fields(TrainSettings)]
    for key in values:
        if key not in known:
            near = nearest_names(key, known)
            hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}"
            raise LearnableError(f"{where}: key {key!r} is not known: {hint}")
    for key in ("curated", "output"):
        if key not in values:
            raise LearnableError(f"{where}: key {key!r} is missing: add it")
    tuples = {name: tuple(values.get(name, ())) for name in ("families", "reach", "verifiers")}
    tuples |= {name: tuple(values[name]) for name in ("stop", "reward_range") if values.get(name) is not None}
    return TrainSettings(**{**values, **tuples})


def check_file_settings(values: JsonObject, where: str, typed: JsonObject | None = None) -> None:
    """Raise `LearnableError` for a setting of a file, `where`, that only the person who types a command may choose.

    `typed` are the settings of the command line: what stands there too is theirs.
    """
    for key in ("engine_options", "trl"):
        given, theirs = values.get(key) or {}, (typed or {}).get(key) or {}
        for name, value in given.items() if isinstance(given, Mapping) else ():
            if not _is_plain(name, value) and theirs.get(name) != value:
                raise LearnableError(
                    f"{where}: {key}.{name} = {value!r} may choose code that runs, a file or a host, and a file is "
                    f"data: leave it out, and where you want it type it, as `{key}` {name}=..."
                )
    launcher = values.get("accelerate_config")
    if launcher and (typed or {}).get("accelerate_config") != launcher:
        raise LearnableError(
            f"{where}: accelerate_config = {launcher!r} is a file that chooses hosts and what is started there: leave "
            "it out, and where you want it type it, as `accelerate_config` FILE"
        )
    tracker, place = values.get("report_to") or "none", str(values.get("curated") or "")
    if tracker not in ("none", "trackio", "tensorboard") and (typed or {}).get("report_to") != tracker:
        raise LearnableError(
            f"{where}: report_to = {tracker!r} sends figures away: leave it out, and where you want it type it, as "
            f"`report_to` {tracker}"
        )
    if ("://" in place or "::" in place) and (typed or {}).get("curated") != place:
        raise LearnableError(f"{where}: curated = {place!r} is no folder here: type it, as `curated` {place}")


def _is_plain(name: str, value: Any) -> bool:
    """Whether a setting of TRL's or vLLM's is a number, a switch, or a choice that they offer.

    >>> _is_plain("max_model_len", 512), _is_plain("trust_remote_code", True), _is_plain("worker_cls", "mine.Worker")
    (True, False, False)
    """
    if name.startswith(NOT_PLAIN):
        return False
    if isinstance(value, Mapping):
        return name == "lr_scheduler_kwargs" and all(_is_number(one) for one in value.values())
    if isinstance(value, list | tuple):
        return all(_is_number(one) for one in value)
    return _is_number(value) or value is None or name in PLAIN_TEXTS


def _is_number(value: Any) -> bool:
    return isinstance(value, bool | int | float)
