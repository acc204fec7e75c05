"""What a failed request to a server means, when to send the next one, and when to give up on the server."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from contextlib import suppress
from email.utils import parsedate_to_datetime
from typing import Any

from learnable.data.errors import LearnableError
from learnable.data.plain_text import whole_characters
from learnable.rollouts.protocol import EngineError

MAX_DELAY = 10.0


class RequestRefusedError(LearnableError):
    """The server will never answer this request."""


class ServerFailedError(LearnableError):
    """The request may be answered later, or by another server.

    `kind` is the reason in two or three words, under which failures are counted. `retry_after` is the pause in seconds
    that the server named. `blames_request` says that the request itself may be the cause. `is_grave` marks a failure
    that took so long that it is reported at once, and `is_refusal` one that says that the server has too much to do.
    """

    def __init__(
        self,
        reason: str,
        kind: str = "no sense",
        *,
        retry_after: float | None = None,
        blames_request: bool = False,
        is_grave: bool = False,
        is_refusal: bool = False,
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.kind = kind
        self.retry_after = retry_after
        self.blames_request = blames_request
        self.is_grave = is_grave
        self.is_refusal = is_refusal


class ServerHealth:
    """How one server does. Times are those of a monotonic clock, in seconds."""

    def __init__(self, patience: float) -> None:
        self.patience = patience
        self._given_up_at: float | None = None  # set while it fails
        self.reason = ""
        self.is_reported = False
        self.successes = 0
        self._failures = 0  # in a row
        self._last_failure = self._last_success = float("-inf")
        self._ready_at = float("-inf")

    @property
    def is_failing(self) -> bool:
        """Whether nothing was answered since the last failure."""
        return self._given_up_at is not None

    def pause_left(self, now: float) -> float:
        """Return the seconds until the next request may be sent; 0 or less for now."""
        return self._ready_at - now

    def is_hopeless(self, now: float) -> bool:
        """Whether every request has failed for as long as patience lasts."""
        return self._given_up_at is not None and now >= self._given_up_at

    def is_worth_reporting(self, failure: ServerFailedError) -> bool:
        """Whether `failure` should be told; true once, until the server has answered again."""
        return (
            self.is_failing and not self.is_reported and (failure.is_grave or self._failures >= 2)
        )  # in a row: one alone is not reported

    def succeed(self, now: float) -> None:
        """Take note of an answer. A pause that the server named goes on."""
        self.successes += 1
        self._last_success = now
        self._failures = 0
        self._given_up_at = None
        self.is_reported = False

    def fail(self, failure: ServerFailedError, sent_at: float, now: float) -> None:
        """Take note of a failed request that was sent at `sent_at`.

        What was in flight together fails together and counts as one failure. Where others have been answered
        meanwhile, the server does not fail. No pause outlasts the patience.
        """
        self.reason = failure.reason
        if sent_at >= self._last_success:
            if self._given_up_at is None:
                self._given_up_at = now + self.patience
            if sent_at > self._last_failure:
                self._last_failure = now
                self._failures += 1
                self._rest(now, find_pause(self._failures))
        if failure.retry_after is not None and failure.retry_after > 0:
            self._rest(now, failure.retry_after)

    def _rest(self, now: float, delay: float) -> None:
        end = now + self.patience if self._given_up_at is None or now >= self._given_up_at else self._given_up_at
        self._ready_at = max(self._ready_at, min(now + delay, end))


def find_pause(failures: int) -> float:
    """Return the pause in seconds after so many failures in a row; a random quarter keeps clients apart."""
    return float(min(MAX_DELAY, 0.5 * 2 ** min(failures - 1, 10)) * random.uniform(0.75, 1))


def read_failure(error: Exception, key: str | None) -> Exception:
    """Say what a failed request means.

    Returns a `RequestRefusedError`, a `ServerFailedError`, an `EngineError` where no request can succeed, a plain
    `LearnableError` where another try cannot help either, or `error` itself where it is none of the server's. None of
    them tells the key.
    """
    from openai import APIConnectionError, APIStatusError, APITimeoutError

    if isinstance(error, TimeoutError | APITimeoutError):
        return ServerFailedError("no answer within the request time-out", "no answer in time", is_grave=True)
    if isinstance(error, APIConnectionError):
        return ServerFailedError(shorten(f"connection failed: {_cause(error)}", key), "connection broken")
    if isinstance(error, APIStatusError):
        return _read_status(error, key)
    if isinstance(error, ValueError | RecursionError):  # of the parser: no JSON, too long a number, too deep
        return ServerFailedError("the answer is not JSON", blames_request=True)
    return error


def read_message(error: Any, key: str | None) -> str:
    """Return the status of an `openai.APIStatusError` and the server's own words."""
    return f"status {error.status_code}: {shorten(read_words(error.body) or 'no message', key)}"


def read_words(body: object) -> object:
    """Return a server's own words out of what it says of an error."""
    return body.get("message") or body.get("detail") or dict(body) if isinstance(body, Mapping) else body


def explain_redirect(error: Any, key: str | None) -> str:
    """Return where an `openai.APIStatusError` wanted to send the request on to, and why it was not sent.

    Nothing where it is another error.
    """
    to = error.response.headers.get("location")
    if to is None or not 300 <= error.status_code < 400:
        return ""
    return (
        f"sends requests on to {shorten(_join(error.request.url, to), key)}, where neither prompts nor a key are sent: "
        "give that address to `base_urls` if it is the one that is meant"
    )


def shorten(text: object, key: str | None) -> str:
    """Return `text` on one line, shortened, and without the key."""
    plain = " ".join(whole_characters(str(text)).split())
    plain = plain.replace(key, "[key]") if key else plain
    limit = 300  # characters of a server's own words
    return plain if len(plain) <= limit else f"{plain[: limit - 1]}…"


def read_retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Return the pause that the headers ask for, in seconds, or None. `now` is the time of day in Unix seconds.

    >>> read_retry_after({"retry-after-ms": "1500", "retry-after": "9"}, now=0.0)
    1.5
    >>> read_retry_after({"retry-after": "Thu, 01 Jan 1970 00:01:00 GMT"}, now=20.0)
    40.0
    """
    for name, divisor in (("retry-after-ms", 1000), ("retry-after", 1)):
        with suppress(ValueError):  # not a number: perhaps a date
            seconds = float(headers.get(name, "")) / divisor
            return seconds if 0 <= seconds < float("inf") else None
    try:
        return parsedate_to_datetime(headers.get("retry-after", "")).timestamp() - now
    except ValueError:
        return None


def _read_status(error: Any, key: str | None) -> Exception:
    status, message = error.status_code, read_message(error, key)
    if status in {400, 413, 422}:
        return RequestRefusedError(message)
    if status in {408, 409, 425, 429} or status >= 500:
        retry_after = read_retry_after(error.response.headers, time.time())
        is_gateway = status in {502, 503, 504}  # the server behind it is down: no request is to blame
        blames_request, is_refusal = status >= 500 and not is_gateway, status in {429, 503}
        kind = f"status {status}"
        return ServerFailedError(
            message, kind, retry_after=retry_after, blames_request=blames_request, is_refusal=is_refusal
        )
    if redirect := explain_redirect(error, key):
        return LearnableError(f"server {error.request.url} {redirect}")
    return EngineError(f"the server {error.request.url} will not be used: {message}")


def _join(url: Any, to: str) -> str:
    try:
        return str(url.join(to))
    except Exception:  # httpx has several for what is no address
        return to


def _cause(error: Exception) -> str:
    cause = error.__cause__ or error
    return str(cause) or type(cause).__name__
