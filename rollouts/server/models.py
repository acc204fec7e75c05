"""Which model the servers serve, and which policy that is: found out once, before anything is generated."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from learnable.data.errors import LearnableError
from learnable.data.plain_text import whole_characters
from learnable.data.policies import Policy, find_policy
from learnable.data.progress import progress
from learnable.data.records import content_id, weights_id
from learnable.data.storage.weights import is_sampled
from learnable.rollouts.server.failures import explain_redirect, read_message, shorten

if TYPE_CHECKING:
    from openai import AsyncOpenAI

HEALTH_TIMEOUT = 10.0  # seconds: a model list needs no generation
CONNECT_TIMEOUT = 60.0  # seconds: 2,000 connections that are opened at once take a while on a machine that is busy
SNAPSHOT = re.compile(r"-20\d\d-?[01]\d-?[0-3]\d")  # what hosted models' names end in when they are answered by date
UNHASHED = "served"  # with a hash of the name, in place of one of the weights


@dataclass(frozen=True, slots=True)
class Served:
    """One server and the model that is requested from it, as its model list says.

    `root` is the folder or hub id that vLLM loaded, `parent` the base model of an adapter, `context` the tokens that a
    prompt and its completion may take together; each is None where the server does not say. `others` are further names
    of what it loaded. `weight_version` is SGLang's word for the weights that it has loaded by now.
    """

    url: str
    model: str
    root: str | None = None
    others: tuple[str, ...] = ()
    parent: str | None = None
    context: int | None = None
    is_vllm: bool = False
    is_sglang: bool = False
    weight_version: str | None = None


def find_served_policy(
    base_urls: Sequence[str],
    *,
    model: str | None = None,
    api_key: str | None = None,
    request_timeout: float = HEALTH_TIMEOUT,
) -> Policy:
    """Return the policy that the servers serve, without generating anything.

    The identity is that of the weights where they can be found here or on the hub, so that rollouts from a server and
    from an engine in this process are the same policy's. Elsewhere it is the model's name, with a warning. Raises
    `LearnableError` when a server cannot be used.
    """
    served = find_served(base_urls, None, model, check_key(api_key), request_timeout)
    return identify(served, None)


def find_served(
    base_urls: Sequence[str], policy: Policy | None, model: str | None, key: str | None, timeout: float
) -> list[Served]:
    """Return which model each server serves.

    Raises `LearnableError` for a bad address, a server that cannot be used, and servers of different models.
    """
    urls = list(dict.fromkeys(_check_url(url) for url in base_urls))
    if not urls:
        raise LearnableError("no server is named: give `base_urls`, for example http://127.0.0.1:8000/v1")
    served = [_choose_model(url, _list_models(url, key, timeout), policy, model, key) for url in urls]
    served = [_ask_sglang(each, key, timeout) if each.is_sglang else each for each in served]
    if len({each.model for each in served}) > 1:
        named = ", ".join(f"{each.url} serves {each.model!r}" for each in served)
        raise LearnableError(f"the servers serve different models ({named}): name servers of one model")
    return served


def identify(served: Sequence[Served], policy: Policy | None) -> Policy:
    """Return `policy`, or the policy that is served where it is None.

    Raises `LearnableError` when a server loaded other weights than the policy's.
    """
    identity = policy or _find_identity(served[0])
    for each in served:
        if _is_other_policy(each, identity):
            raise LearnableError(
                f"server {each.url} loaded {each.root!r}, which is not the policy {identity.policy_id!r}: "
                "give `policy` the same weights, or start the server with them"
            )
    return identity


def check_answered_model(served: Served, answer: object) -> None:
    """Raise `LearnableError` where an answer names another model than the one that was asked.

    A server may name none, a dated snapshot of the one asked, or say less or more of the path to it. SGLang answers
    with the version of its weights too, which may be exchanged while it serves.
    """
    if not isinstance(answer, Mapping):
        return
    _check_version(served, answer.get("metadata"))
    named = answer.get("model")
    if not isinstance(named, str) or not named:
        return
    known = [served.model, *served.others, *([served.root] if served.root else [])]
    if not any(_is_same_model(name, named) for name in known):
        raise LearnableError(
            f"server {served.url} was asked for {served.model!r} and answers as {shorten(repr(named), None)}, so its "
            "completions are another policy's: ask for that one with `served_model`, or start the server under the "
            "name that it is asked by"
        )


def _check_version(served: Served, metadata: object) -> None:
    version = metadata.get("weight_version") if isinstance(metadata, Mapping) else None
    if served.weight_version is not None and version not in (None, served.weight_version):
        raise LearnableError(
            f"server {served.url} has exchanged its weights ({shorten(repr(version), None)} in place of "
            f"{served.weight_version!r}), so its completions are another policy's: name the new weights with `policy`"
        )


def _is_same_model(wanted: str, named: str) -> bool:
    """Say whether two names may be those of one model.

    >>> [_is_same_model("a/qwen", name) for name in ("A/Qwen", "qwen", "a/qwen-2026-01-31", "b/qwen", "a/qwen-60")]
    [True, True, True, False, False]
    """
    wanted, named = (name.casefold().removesuffix(":latest") for name in (wanted, named))
    if f"/{wanted}".endswith(f"/{named}") or f"/{named}".endswith(f"/{wanted}"):
        return True
    return named.startswith(wanted) and SNAPSHOT.fullmatch(named[len(wanted) :]) is not None


def check_key(api_key: str | None) -> str | None:
    """Return the key without blanks around it, or None for none.

    Raises `LearnableError` for a key that no HTTP header can carry.
    """
    key = (api_key or "").strip()
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise LearnableError(
            "the key of the server contains a blank or a character that is not ASCII: "
            "correct the variable that `api_key_env` names (OPENAI_API_KEY by default)"
        )
    return key or None


def _check_url(url: str) -> str:
    try:
        parts = urlsplit(url.strip())
        is_good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_good = False
    if not is_good:
        raise LearnableError(f"`base_urls` {url!r} is not an address: give one like http://127.0.0.1:8000/v1")
    if "@" in parts.netloc:
        raise LearnableError(
            f"`base_urls` for {parts.hostname} contains a password: leave it out, and set OPENAI_API_KEY instead"
        )
    return url.strip().rstrip("/")


def open_client(url: str, key: str | None, timeout: float) -> AsyncOpenAI:
    """Return a client that sends nothing by itself: no request a second time, and none to another address.

    `timeout` is in seconds, of every read; whoever asks limits the whole.
    """
    from openai import AsyncOpenAI, DefaultAsyncHttpxClient, Timeout

    limits = Timeout(timeout, connect=min(CONNECT_TIMEOUT, timeout))
    http = DefaultAsyncHttpxClient(follow_redirects=False, timeout=limits)  # or a key goes wherever a server says
    key = key or "EMPTY"  # the usual word for servers without keys; the openai package insists on one
    return AsyncOpenAI(base_url=url, api_key=key, timeout=limits, max_retries=0, http_client=http)


def _ask(url: str, path: str, key: str | None, timeout: float) -> Any:
    async def ask() -> object:
        async with asyncio.timeout(timeout), open_client(url, key, timeout) as client:
            return await client.get(path, cast_to=object)

    with ThreadPoolExecutor(1, thread_name_prefix="models") as thread:  # the caller's may have a loop under way
        return thread.submit(asyncio.run, ask()).result()


def _ask_sglang(served: Served, key: str | None, timeout: float) -> Served:
    """Return what SGLang has loaded: its list of models knows only the name that it serves it by, also as `root`."""
    from openai import OpenAIError

    info: object = None
    with suppress(OpenAIError, TimeoutError, ValueError, RecursionError):  # not there: the weights are not known
        info = _ask(served.url.removesuffix("/v1"), "/get_model_info", key, timeout)
    told = info if isinstance(info, Mapping) else {}
    path, version = told.get("model_path"), told.get("weight_version")
    root = path if isinstance(path, str) and not served.parent else None
    return replace(served, root=root, weight_version=version if isinstance(version, str) else None)


def _list_models(url: str, key: str | None, timeout: float) -> list[Mapping[str, Any]]:
    from openai import APIConnectionError, APIStatusError, APITimeoutError

    try:
        answer = _ask(url, "/models", key, timeout)
        return [
            card
            for card in answer["data"]
            if isinstance(card["id"], str) and whole_characters(card["id"]) == card["id"]
        ]
    except (TimeoutError, APITimeoutError):
        reason = f"does not answer within {timeout:g} s: wait until it is ready, or correct `base_urls`"
    except APIConnectionError as error:
        reason = f"cannot be reached ({shorten(error.__cause__ or error, key)}): start it, or correct `base_urls`"
    except APIStatusError as error:
        reason = _explain_status(error, key)
    except (ValueError, TypeError, KeyError, RecursionError):
        reason = (
            "answers /models with something else than a list of models: correct `base_urls`, which often ends in /v1"
        )
    raise LearnableError(f"server {url} {reason}")


def _explain_status(error: Any, key: str | None) -> str:
    if error.status_code in (401, 403) and key is None:
        return "needs a key: set OPENAI_API_KEY or name another variable with `api_key_env`"
    if redirect := explain_redirect(error, key):
        return redirect
    message = read_message(error, key)
    if error.status_code in (401, 403):
        return f"does not accept the key ({message}): correct the variable that `api_key_env` names (OPENAI_API_KEY)"
    if error.status_code == 429 or error.status_code >= 500:
        return f"is not ready ({message}): wait until it is"
    return f"has no list of models ({message}): correct `base_urls`, which often ends in /v1"


def _choose_model(
    url: str, cards: Sequence[Mapping[str, Any]], policy: Policy | None, model: str | None, key: str | None
) -> Served:
    by_name = {card["id"]: card for card in cards}
    if model is not None:
        wanted = [model]
    elif len(by_name) == 1:
        wanted = list(by_name)
    else:
        wanted = [policy.name, Path(policy.name).name] if policy else []
    for name in wanted:
        if name in by_name:
            return _read_card(url, by_name[name], cards)
    named = 8  # models, and no more
    names = ", ".join(repr(name) for name in list(by_name)[:named]) or "no model"
    more = f" and {len(by_name) - named} more" if len(by_name) > named else ""
    fix = f"not {model!r}: correct `served_model`" if model is not None else "choose one with `served_model`"
    raise LearnableError(f"server {url} serves {shorten(names, key)}{more}: {fix}")


def _read_card(url: str, card: Mapping[str, Any], cards: Sequence[Mapping[str, Any]]) -> Served:
    root, parent, context = card.get("root"), card.get("parent"), card.get("max_model_len")
    same = [other["id"] for other in cards if root and (other.get("root"), other.get("parent")) == (root, parent)]
    return Served(
        url=url,
        model=card["id"],
        root=root if isinstance(root, str) else None,
        others=tuple(same) if isinstance(root, str) else (),
        parent=parent if isinstance(parent, str) else None,
        context=context if isinstance(context, int) and context > 0 else None,
        is_vllm=card.get("owned_by") == "vllm",
        is_sglang=card.get("owned_by") == "sglang",
    )


def _loaded_policy(served: Served, *, verify: bool = False) -> Policy | None:
    """Return the policy in the folder that the server loaded, if that folder is a model on this machine."""
    if served.root is None or not Path(served.root).is_absolute() or not Path(served.root).is_dir():
        return None
    try:
        return find_policy(served.root, verify=verify)
    except LearnableError:  # an adapter, say: it has no identity of its own here
        return None


def _find_identity(served: Served) -> Policy:
    if loaded := _loaded_policy(served):
        return loaded
    if served.root and _is_on_hub(served):
        with suppress(LearnableError):  # not on the hub, or the hub is out of reach: told below
            return find_policy(served.root)
    progress().warn(
        f"the weights that {served.url} serves as {served.model!r} cannot be hashed, so the ledger cannot notice when "
        "they change: give `policy`"
    )
    return Policy(path=served.model, policy_id=f"{served.model}@{UNHASHED}-{content_id(served.model)}")


def _is_other_policy(served: Served, policy: Policy) -> bool:
    if loaded := _loaded_policy(served, verify=not is_sampled(weights_id(policy.policy_id))):
        return weights_id(loaded.policy_id) != weights_id(policy.policy_id)
    names_a_hub_id = weights_id(policy.policy_id) != UNHASHED and not Path(policy.path).is_dir()
    return names_a_hub_id and _is_on_hub(served) and served.root != policy.path


def _is_on_hub(served: Served) -> bool:
    return bool(served.root) and not served.parent and not str(served.root).startswith((".", "/", "~"))
