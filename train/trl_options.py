"""Settings of TRL's that are given by its own names: `--trl key=value`, checked against the installed class."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from learnable.data.errors import LearnableError, UnknownNameError
from learnable.data.records import JsonObject

# What is a setting of ours, which other parts of a run read too.
OUR_SETTINGS = {
    "num_generations": "`num_generations`",
    "max_completion_length": "`max_completion_length`",
    "temperature": "`temperature`",
    "learning_rate": "`learning_rate`",
    "beta": "`beta`",
    "loss_type": "`loss_type`",
    "scale_rewards": "`scale_rewards`",
    "max_steps": "`steps`",
    "num_train_epochs": "`steps`",
    "output_dir": "`output`",
    "seed": "`seed`",
    "report_to": "`report_to`",
    "save_steps": "`save_steps`",
    "per_device_train_batch_size": "`batch_size` and `micro_batch_size`",
    "gradient_accumulation_steps": "`batch_size` and `micro_batch_size`",
    "use_vllm": "`use_vllm`",
    "resume_from_checkpoint": "`resume`",
}


def read_trl_options(pairs: Sequence[str]) -> JsonObject:
    """Return `key=value` pairs as a mapping; a value is JSON, or else text.

    Raises `LearnableError` for a pair without a sign, or a key that is given twice.

    >>> read_trl_options(["epsilon_high=0.28", "run_name=first", "mask_truncated_completions=true"])
    {'epsilon_high': 0.28, 'run_name': 'first', 'mask_truncated_completions': True}
    """
    options: JsonObject = {}
    for pair in pairs:
        key, sign, text = pair.partition("=")
        if not sign or not key:
            raise LearnableError(f"`trl` {pair!r} is not key=value: give for example `trl` epsilon_high=0.28")
        if key in options:
            raise LearnableError(f"`trl` {key} is given twice: give it once")
        try:
            options[key] = json.loads(text)
        except ValueError:
            options[key] = text
    return options


def check_trl_options(given: Mapping[str, object], method: str) -> None:
    """Raise `LearnableError` for an option that the installed TRL does not have, or that is a setting of ours.

    Loads TRL where there is anything to check.
    """
    if not given:
        return
    import trl

    config = {"grpo": trl.GRPOConfig, "sft": trl.SFTConfig, "dpo": trl.DPOConfig}[method]
    known = {field.name for field in fields(config)}
    hints = get_type_hints(config)
    for key, value in given.items():
        if key in OUR_SETTINGS and (method == "grpo" or key != "loss_type"):  # ours has GRPO's losses
            raise LearnableError(f"`trl` {key}={value}: give {OUR_SETTINGS[key]} for it")
        if key not in known:
            raise UnknownNameError(f"setting of {config.__name__} (TRL {trl.__version__})", key, sorted(known))
        if not fits_type(value, hints[key]):
            raise LearnableError(
                f"`trl` {key}={value!r} cannot work: {config.__name__} wants {describe_type(hints[key])}"
            )


def fits_type(value: Any, wanted: Any) -> bool:
    """Whether a value that JSON can have, or a tuple, fits a type; what is no plain type takes anything.

    >>> fits_type((0, 1.5), tuple[float, float]), fits_type((0,), tuple[float, float]), fits_type("8", int | None)
    (True, False, False)
    """
    origin = get_origin(wanted)
    if origin in (Union, UnionType):
        return any(fits_type(value, one) for one in get_args(wanted))
    if origin is Literal:
        return value in get_args(wanted)
    if wanted in (bool, str, NoneType):
        return isinstance(value, wanted)
    if wanted in (int, float):
        return isinstance(value, int if wanted is int else int | float) and not isinstance(value, bool)
    if origin is tuple:
        return isinstance(value, tuple) and _fit_types(value, get_args(wanted))
    return (origin in (dict, list, Mapping) and isinstance(value, origin)) or origin is None


def _fit_types(values: tuple[Any, ...], wanted: tuple[Any, ...]) -> bool:
    kinds = wanted[:1] * len(values) if wanted[-1:] == (...,) else wanted
    return len(values) == len(kinds) and all(map(fits_type, values, kinds))


def describe_type(wanted: Any) -> str:
    """Return a type in words."""
    return getattr(wanted, "__name__", str(wanted)) if get_origin(wanted) is None else str(wanted)
