"""Options that go to vLLM as they are: names it does not know, and what it says of values, in one line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from learnable.data.errors import LearnableError, UnknownNameError

# What vLLM would take from us, and we give it otherwise or not at all.
ELSEWHERE = {
    "model": "name the policy with --policy",
    "chat_template": "prompts are written with the template of the policy's own tokenizer: put it there",
}
MAX_LENGTH = 300  # letters of vLLM's own words


def check_option_names(options: Mapping[str, Any]) -> None:
    """Raise `LearnableError` for a name that `vllm.EngineArgs` does not have, before a model is loaded."""
    from vllm import EngineArgs

    known = {field.name for field in fields(EngineArgs)} - set(ELSEWHERE)
    for name in options:
        if name in ELSEWHERE:
            raise LearnableError(f"--engine-arg {name} has no use here: {ELSEWHERE[name]}")
        if name not in known:
            raise UnknownNameError("--engine-arg", name, known)


def describe_refusal(error: Exception, options: Mapping[str, Any]) -> str:
    r"""Return why vLLM did not load, in one line; of values that its configuration refuses, each with what is wrong.

    >>> describe_refusal(RuntimeError("no memory\nleft"), {})
    'RuntimeError: no memory left'
    """
    refused: dict[str, str] = {}
    for fault in _faults(error):
        name = str(fault["loc"][0]) if fault["loc"] else ""
        if name in options:
            refused.setdefault(f"--engine-arg {name}={options[name]}", fault["msg"])
    if refused:
        return _one_line("; ".join(f"{option}: {why}" for option, why in refused.items()))
    faults = [fault["msg"].removeprefix("Value error, ") for fault in _faults(error)]
    why = "; ".join(faults) or f"{type(error).__name__}: {error}"
    named = [f"--engine-arg {name}={value}: " for name, value in options.items() if name in why]
    return _one_line(f"{', '.join(named)}{why}")


def _faults(error: Exception) -> list[Mapping[str, Any]]:
    from pydantic import ValidationError

    return list(error.errors(include_url=False)) if isinstance(error, ValidationError) else []


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_LENGTH else f"{line[: MAX_LENGTH - 3]}..."
