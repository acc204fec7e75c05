"""What is known of a prompt before its first rollout, as numbers: its row's columns, the numbers and words in its text.

A prompt's spec is not looked at: it holds the answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any
from zlib import crc32

import numpy as np
from scipy.sparse import csr_matrix, hstack

from learnable.data.errors import LearnableError, nearest_names
from learnable.data.records import SIMULATED_VERIFIER, Prompt
from learnable.filters.arrays import Indices, Values
from learnable.filters.prediction.other_rates import OtherRates

OWN_COLUMNS = ("form", "difficulty")  # read of every prompt, whatever columns its row has
MIN_SEEN = 2  # categories and words of fewer of the sampled prompts say nothing of the others
WORD_PLACES, CHARACTER_PLACES = 2048, 1024  # that words and character trigrams are hashed to
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_WORD = re.compile(r"[^\W\d_]+|[^\w\s]|\d")

Matrix = csr_matrix
"""Sparse features, shape (prompts, features)."""


class PromptFeatures:
    """The features of a pool's prompts, made when they are asked for.

    Args:
        prompts: the pool.
        columns: the columns of the prompts' rows to read; all that hold numbers or few different values, by default.
        others: the rates of other policies on them.

    Raises `LearnableError` for a column that no row has.
    """

    def __init__(
        self, prompts: Sequence[Prompt], columns: Sequence[str] = (), others: OtherRates | None = None
    ) -> None:
        check_columns(prompts, columns)
        self.prompts, self.columns = prompts, columns
        self.others = others or OtherRates((), np.zeros((len(prompts), 0)))

    def encode(self, rows: Indices, sampled: Indices) -> FeatureEncoder:
        """Return what makes features of `rows`, the prompts of a family, scaled by the `sampled` ones."""
        return FeatureEncoder(self, rows, sampled)


class FeatureEncoder:
    """Turns prompts of one family into features that are on the scale of the prompts that were sampled.

    `known_rates` are those of the columns that hold solve rates, `others` the policies whose rates are features. `rows`
    are the family's prompts, `sampled_rows` those of them that were sampled.
    """

    def __init__(self, features: PromptFeatures, rows: Indices, sampled_rows: Indices) -> None:
        self.prompts = features.prompts
        sampled = [self.prompts[row] for row in sampled_rows]
        self.numeric, self.categories = _sort_columns(sampled, features.columns)
        self.known_rates = [name for name in self.numeric if is_rate(name, (self.prompts[row] for row in rows))]
        self._of_others = features.others.encode(sampled_rows)
        self.others = self._of_others.names
        of_sampled = {name: _read_numbers(sampled, name) for name in self.numeric}
        self._usual = {name: float(np.nanmean(values)) for name, values in of_sampled.items()}
        self._whole = {name: 100.0 if np.nanmax(values) > 1 else 1.0 for name, values in of_sampled.items()}
        dense = self._measure(sampled)
        self._mean, self._std = dense.mean(axis=0), dense.std(axis=0)
        frequencies = np.array(_stack(sampled).astype(bool).sum(axis=0)).reshape(-1)
        rarity = np.log((1 + len(sampled)) / (1 + frequencies))
        self._weights: Values = np.where(frequencies >= MIN_SEEN, rarity, 0.0)

    def name_sources(self, *, words: bool, others: bool = False) -> list[str]:
        """Return what the features are made of, as a person would say it."""
        rates = [f"rates of policy {name}" for name in self.others] if others else []
        columns = [f"column {name}" for name in [*self.numeric, *self.categories] if name not in OWN_COLUMNS]
        own = [name for name in OWN_COLUMNS if name in self.numeric or name in self.categories]
        return [*rates, *columns, *own, "numbers in the text", "its length", *(["its words"] if words else [])]

    def transform(self, rows: Indices, *, words: bool, others: bool = False) -> Matrix:
        """Return the features of prompts: those of columns, numbers and length.

        With `words` also hashed words, with `others` also the rates of other policies.
        """
        prompts = [self.prompts[row] for row in rows]
        varying = self._std > 1e-9
        scaled = (self._measure(prompts)[:, varying] - self._mean[varying]) / self._std[varying]
        if others:
            scaled = np.concatenate([scaled, self._of_others.transform(rows)], axis=1)
        # Beyond four standard deviations from the sampled prompts' mean a figure is not told apart.
        dense = csr_matrix(np.clip(scaled, -4.0, 4.0))
        if not words:
            return dense
        hashed = csr_matrix(_stack(prompts).multiply(self._weights))
        length = np.sqrt(np.array(hashed.multiply(hashed).sum(axis=1)).reshape(-1))
        return csr_matrix(hstack([dense, hashed.multiply(1 / np.maximum(length, 1e-9)[:, None])]))

    def _measure(self, prompts: Sequence[Prompt]) -> Values:
        """Return columns, numbers and length as figures, shape (prompts, figures)."""
        parts = [np.array([_measure_text(prompt.whole_text) for prompt in prompts])]
        for name in self.numeric:
            values = _read_numbers(prompts, name)
            parts.append(_bend(values, self._usual[name]))
            if name in self.known_rates:
                share = np.clip(values / self._whole[name], 0.01, 0.99)
                parts.append(np.nan_to_num(np.log(share / (1 - share)))[:, None])
        for name, known in self.categories.items():
            categories = [_as_category(_read(prompt, name)) for prompt in prompts]
            parts.append(np.array([[value == one for one in known] for value in categories], dtype=np.float64))
        return np.concatenate(parts, axis=1)


def check_columns(prompts: Sequence[Prompt], columns: Sequence[str]) -> None:
    """Raise `LearnableError` for a column to predict from that no prompt's row has."""
    names = dict.fromkeys(name for prompt in prompts for name in prompt.columns) if columns else {}
    for name in columns:
        if name not in names and name not in OWN_COLUMNS:
            near = nearest_names(name, names)
            has = f"did you mean {' or '.join(near)}?" if near else f"they have {', '.join(names) or 'none'}"
            raise LearnableError(f"`predict_from` {name}: no row of the prompts has this column beside its own; {has}")


def _sort_columns(sampled: Sequence[Prompt], columns: Sequence[str]) -> tuple[list[str], dict[str, list[str]]]:
    """Return the columns of numbers, and those of categories with the ones that several sampled prompts have."""
    names = columns or sorted({name for prompt in sampled for name in prompt.columns})
    numeric: list[str] = []
    categories: dict[str, list[str]] = {}
    for name in [*OWN_COLUMNS, *(name for name in names if name not in OWN_COLUMNS)]:
        values = [_read(prompt, name) for prompt in sampled]
        if _are_numbers(values):
            numeric.append(name)
            continue
        counts: dict[str, int] = {}
        for value in values:
            counts[_as_category(value)] = counts.get(_as_category(value), 0) + 1
        common = sorted(value for value, count in counts.items() if count >= MIN_SEEN)
        # With more values a column of texts is no category.
        if len(counts) > 1 and common and len(common) <= 64:
            categories[name] = common
    return numeric, categories


def _read(prompt: Prompt, name: str) -> Any:
    if name in OWN_COLUMNS:  # a simulated prompt's difficulty is its pass rate, which nobody would know
        return None if prompt.verifier == SIMULATED_VERIFIER and name == "difficulty" else getattr(prompt, name)
    return prompt.columns.get(name)


def _read_numbers(prompts: Iterable[Prompt], name: str) -> Values:
    return np.array([_as_number(_read(prompt, name)) for prompt in prompts])


def _are_numbers(values: Iterable[Any]) -> bool:
    given = [value for value in values if value not in (None, "")]
    return bool(given) and all(np.isfinite(_as_number(value)) for value in given)


def _as_number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return float("nan")
    try:
        return float(np.clip(float(value), -1e12, 1e12))
    except (ValueError, OverflowError):
        return float("nan")


def _as_category(value: Any) -> str:
    return str(value)[:200]


def is_rate(name: str, family: Iterable[Prompt]) -> bool:
    """Say whether a column holds solve rates of another model, by its name and its values."""
    words = r"(solve|pass|success|correct|win)\w*_?(rate|ratio|percentage|percent)|pass(@|_at_)1|accuracy"
    if not re.search(words, name.casefold()):
        return False
    values = _read_numbers(family, name)
    known = values[~np.isnan(values)]
    return bool(len(known)) and bool(known.min() >= 0) and bool(known.max() <= 100)


def _bend(values: Values, usual: float) -> Values:
    """Return numbers, their logarithms with the sign, those squared, and whether there is none: (numbers, 4)."""
    missing = np.isnan(values)
    filled = np.where(missing, usual, values)
    logs = np.sign(filled) * np.log1p(np.abs(filled))
    return np.column_stack([filled, logs, logs**2, missing])


def _measure_text(text: str) -> list[float]:
    """Return how long a text is, how many numbers it has, and of the first ones size and logarithm."""
    numbers = [_as_number(number) for number in _NUMBER.findall(text)]
    logs = [float(np.log1p(abs(number))) for number in numbers]
    places = 6  # the first numbers of a text, one by one
    first = (numbers + [0.0] * places)[:places]
    of_first = (logs + [0.0] * places)[:places]
    apart = float(np.log1p(abs(first[0] - first[1])))
    length = float(np.log1p(len(text)))
    totals = [length, length**2, float(np.log1p(len(numbers))), float(np.log1p(text.count("\n"))), sum(logs), apart]
    return [*totals, max(logs, default=0.0), *first, *of_first, *(log**2 for log in of_first)]


def _hash_text(prompt: Prompt) -> Mapping[int, float]:
    """Return counts, in logarithms, of words, pairs of words and character trigrams, by the place they hash to."""
    # Words are read of the first 4,000 characters.
    text = prompt.whole_text[:4_000].casefold()
    words = _WORD.findall(text)
    pairs = [f"{one} {other}" for one, other in pairwise(words)]
    places = [crc32(word.encode("utf-8", "replace")) % WORD_PLACES for word in [*words, *pairs]]
    codes = np.frombuffer(text.encode("utf-32-le", "replace"), np.uint32).astype(np.int64)
    trigrams = (codes[:-2] * 961 + codes[1:-1] * 31 + codes[2:]) * 2_654_435_761 % 2**32 % CHARACTER_PLACES
    together = np.concatenate([np.array(places, np.int64), WORD_PLACES + trigrams])
    hashes, counts = np.unique(together, return_counts=True)
    return dict(zip(hashes.tolist(), np.log1p(counts).tolist(), strict=True))


def _stack(prompts: Sequence[Prompt]) -> Matrix:
    hashed = [_hash_text(prompt) for prompt in prompts]
    lengths = np.cumsum([0, *(len(each) for each in hashed)])
    places = np.array([place for each in hashed for place in each], np.int64)
    values = np.array([value for each in hashed for value in each.values()], np.float64)
    return csr_matrix((values, places, lengths), shape=(len(hashed), WORD_PLACES + CHARACTER_PLACES))
