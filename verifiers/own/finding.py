"""Finds a user's judge by its name: a function, a class, an object, or a reward function of TRL's kind."""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from learnable.data.errors import LearnableError
from learnable.verifiers.own.adapter import OwnJudge, shown
from learnable.verifiers.own.loading import JudgeError, LoadedJudge, describe_fault, load_judge
from learnable.verifiers.own.naming import JudgeName, read_name
from learnable.verifiers.own.reward_function import RewardFunction, is_reward_function, read_parameters
from learnable.verifiers.own.scale import USUAL_SCALE, RewardScale, declared_scale, read_scale
from learnable.verifiers.protocol import verifier_time_limit

COMPLETION, OFFERED = "completion", ("prompt", "spec")
SIGNATURE = (
    "def judge(completion, prompt, spec), where prompt and spec may be left out, or def score(completions, **columns)"
)
# Where rewards of TRL's own functions lie that are not from 0 to 1, and which of them are those of good completions.


def find_own_judge(name: str) -> OwnJudge:
    """Import the judge that `name` names, and fill in what it lacks.

    Raises `JudgeError` for one that cannot be used, and `LearnableError` for a wrong `time_limit` or range.
    """
    said = read_name(name)
    loaded = load_judge(said.place)
    try:
        whole = _behind_protocol(name, said, loaded)
    except JudgeError:
        raise
    except LearnableError as error:
        raise JudgeError(f"verifier {name!r}: {error}") from error
    except Exception as error:
        raise JudgeError(
            f"verifier {name!r} cannot be used: {describe_fault(error)}. Mend it and start again"
        ) from error
    verifier_time_limit(whole)  # a wrong one is found here, before any completion waits for it
    return whole


def _behind_protocol(name: str, said: JudgeName, loaded: LoadedJudge) -> OwnJudge:
    _check_is_users(name, loaded.judge)
    judge = _made(name, said, loaded.judge)
    scales = {
        "get_cosine_scaled_reward": RewardScale(-1.0, 1.0, 0.5),
        "get_soft_overlong_punishment": RewardScale(-1.0, 0.0, 0.0),
    }
    usual = scales.get(said.place.rpartition(":")[2], USUAL_SCALE) if said.is_trls else USUAL_SCALE
    scale = read_scale(said.reward_range, said.passes_at, declared_scale(judge, usual))
    version = f"{getattr(judge, 'version', None) or loaded.source_hash}{scale.label}"
    own_name = str(getattr(judge, "name", None) or name)
    call = _callable(name, judge)
    parameters = _parameters(name, call)
    if is_reward_function(parameters):
        keywords, needed = read_parameters(name, parameters)
        takes_all = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
        return RewardFunction(
            own_name, version, loaded.file, loaded.source_hash, judge, call, keywords, scale, needed, takes_all
        )
    if inspect.iscoroutinefunction(call):
        raise JudgeError(f"verifier {name!r} is async, which nobody would await: write {SIGNATURE}")
    keywords = _keywords(name, parameters)
    return OwnJudge(own_name, version, loaded.file, loaded.source_hash, judge, call, keywords, scale)


def _check_is_users(name: str, judge: Any) -> None:
    """Raise `JudgeError` for a callable of Python's own, wherever it was imported: nobody wrote that as a judge."""
    while isinstance(judge, partial):
        judge = judge.func
    home = getattr(judge, "__module__", None) or type(judge).__module__
    if callable(judge) and home.partition(".")[0] in sys.stdlib_module_names:
        raise JudgeError(f"verifier {name!r} is {shown(judge)}, which is Python's own and no judge: write {SIGNATURE}")


def _made(name: str, said: JudgeName, judge: Any) -> Any:
    """Return the judge itself: a class, and a function that its name has arguments for, is called for it."""
    if said.place.endswith("get_repetition_penalty_reward"):
        raise JudgeError(f"verifier {name!r} counts which tokens come again, and the store keeps how many they were")
    makes = isinstance(judge, type) or bool(said.arguments) or (said.is_trls and ":get_" in said.place)
    if not makes:
        return judge
    if not callable(judge):
        raise JudgeError(f"verifier {name!r} is {shown(judge)}, which takes no arguments: leave them out")
    parameters = inspect.signature(judge).parameters
    takes_all = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    if (unknown := [option for option in said.arguments if option not in parameters]) and not takes_all:
        raise JudgeError(
            f"verifier {name!r}: {judge.__name__}() takes no {unknown[0]!r}: it takes "
            f"{', '.join(parameters) or 'nothing'}; range and pass are for every verifier of yours"
        )
    if needed := [option for option in _needed(parameters.values()) if option not in said.arguments]:
        raise JudgeError(
            f"verifier {name!r}: {judge.__name__}() needs {', '.join(needed)}: give defaults, or name an object, "
            f"as in judge = {judge.__name__}(...), or say them: {name}{'&' if '?' in name else '?'}{needed[0]}=VALUE"
        )
    return judge(**{option: _literal(text) for option, text in said.arguments.items()})


def _literal(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _callable(name: str, judge: Any) -> Callable[..., object]:
    """Return what judges: `score` of an object that has one, or the object itself."""
    call = getattr(judge, "score", None) if not inspect.isroutine(judge) else None
    call = judge if call is None else call
    if not callable(call):
        raise JudgeError(
            f"verifier {name!r} is {shown(judge)}, which cannot judge: name a function, or a class with score(): "
            f"{SIGNATURE}"
        )
    return call  # type: ignore[no-any-return]


def _parameters(name: str, call: Callable[..., object]) -> dict[str, inspect.Parameter]:
    try:
        parameters = dict(inspect.signature(call).parameters)
    except ValueError:  # a built-in function that does not tell
        parameters = {}
    if not parameters:
        raise JudgeError(f"verifier {name!r} takes no completion: write {SIGNATURE}")
    return parameters


def _keywords(name: str, parameters: dict[str, inspect.Parameter]) -> frozenset[str]:
    """Return which of `prompt` and `spec` this judge takes."""
    first, *rest = parameters.values()
    if first.name != COMPLETION or first.kind is first.KEYWORD_ONLY:
        raise JudgeError(
            f"verifier {name!r}: its first parameter is not the completion but {first.name!r}: write {SIGNATURE}"
        )
    if needed := [other for other in _needed(rest) if other not in OFFERED]:
        raise JudgeError(
            f"verifier {name!r} needs {', '.join(needed)}, which nobody gives it: write {SIGNATURE}; what a row "
            'knows is in spec, as in spec["answer"]'
        )
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in rest):
        return frozenset(OFFERED)
    return frozenset(parameter.name for parameter in rest if parameter.name in OFFERED)


def _needed(parameters: Any) -> list[str]:
    return [p.name for p in parameters if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
