"""What a file may set of a training run: plain values, and nothing that names code, a host, a place to upload to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from learnable.data.errors import LearnableError
from learnable.data.records import JsonObject

FLAGS = {"engine_options": "--engine-arg", "trl": "--trl"}
# Texts and tables that choose among what TRL and vLLM have. Any other may name a class, a file or a host.
PLAIN_TEXTS = frozenset(
    """
    dtype kv_cache_dtype lr_scheduler_type optim loss_type importance_sampling_level multi_objective_aggregation
    vllm_importance_sampling_mode f_divergence_type train_sampling_strategy truncation_mode packing_strategy
    logging_strategy save_strategy
    """.split()
)
PLAIN_TABLES = frozenset({"lr_scheduler_kwargs"})
# Switches and numbers that let code of others run, or send something away.
NOT_PLAIN = ("trust_remote_code", "push_to_hub", "hub_", "hf_token", "trackio_", "vllm_server_", "log_completions")
LOCAL_TRACKERS = ("none", "trackio", "tensorboard")


def check_file_settings(values: JsonObject, where: str, typed: JsonObject | None = None) -> None:
    """Raise `LearnableError` for a setting of a file, `where`, that only the person who types a command may choose.

    `typed` are the settings of the command line: what stands there too is theirs.
    """
    for key, flag in FLAGS.items():
        given, theirs = values.get(key) or {}, (typed or {}).get(key) or {}
        for name, value in given.items() if isinstance(given, Mapping) else ():
            if not _is_plain(name, value) and theirs.get(name) != value:
                raise LearnableError(
                    f"{where}: {key}.{name} = {value!r} may choose code that runs, a file or a host, and a file is "
                    f"data: leave it out, and where you want it type it, as learnable train {flag} {name}=..."
                )
    tracker, place = values.get("report_to") or "none", str(values.get("curated") or "")
    if tracker not in LOCAL_TRACKERS and (typed or {}).get("report_to") != tracker:
        raise LearnableError(
            f"{where}: report_to = {tracker!r} sends figures away: leave it out, and where you want it type it, as "
            f"learnable train --report-to {tracker}"
        )
    if ("://" in place or "::" in place) and (typed or {}).get("curated") != place:
        raise LearnableError(f"{where}: curated = {place!r} is no folder here: type it, as --curated {place}")


def _is_plain(name: str, value: Any) -> bool:
    """Whether a setting of TRL's or vLLM's is a number, a switch, or a choice that they offer.

    >>> _is_plain("max_model_len", 512), _is_plain("trust_remote_code", True), _is_plain("worker_cls", "mine.Worker")
    (True, False, False)
    """
    if name.startswith(NOT_PLAIN):
        return False
    if isinstance(value, Mapping):
        return name in PLAIN_TABLES and all(_is_number(one) for one in value.values())
    if isinstance(value, list | tuple):
        return all(_is_number(one) for one in value)
    return _is_number(value) or value is None or name in PLAIN_TEXTS


def _is_number(value: Any) -> bool:
    return isinstance(value, bool | int | float)
