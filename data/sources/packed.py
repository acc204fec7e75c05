"""A pool's prompts in a fifth of the memory that objects take: packed, and made again whenever one is asked for."""

from __future__ import annotations

import pickle
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from operator import attrgetter, index
from typing import SupportsIndex, overload

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from learnable.data.records import Prompt, Split
from learnable.data.tables import prompts_table

ID_BYTES = 10  # of `records.content_id`, which has twice as many hex digits
OWN = ("prompt", "spec", "difficulty", "source", "columns", "named_problem")
KIND = ("verifier", "family", "form")  # which many prompts share
SIDES: tuple[Split, Split] = ("train", "test")

_read_own, _read_kind = attrgetter(*OWN), attrgetter(*KIND)
_setters = {name: getattr(Prompt, name).__set__ for name in Prompt.__dataclass_fields__}  # a frozen class has no others


Keys = NDArray[np.bytes_]
"""Ids as `ID_BYTES` bytes each."""


class PackedPrompts(Sequence[Prompt]):
    """Prompts that are held as bytes of this process; each access makes a new object, equal to the one that was added.

    Of a short prompt they take some 130 bytes, with 20 of its ids, where the object and what it holds take 700.
    """

    def __init__(self, prompts: Iterable[Prompt] = ()) -> None:
        self._packed = bytearray()
        self._ends = array("Q")
        self._ids = bytearray()  # of the prompt and of its question
        self._kind_of = array("I")
        self._kinds: list[tuple[str, str, str]] = []
        self._numbers: dict[tuple[str, str, str], int] = {}
        self._held_out = bytearray()
        self._is_text, self._is_carrying = bytearray(), bytearray()  # a text and no chat; columns of the user's row
        for prompt in prompts:
            self.append(prompt)

    def append(self, prompt: Prompt) -> None:
        """Add a prompt."""
        kind: tuple[str, str, str] = _read_kind(prompt)
        if (number := self._numbers.get(kind)) is None:
            number = self._numbers[kind] = len(self._kinds)
            self._kinds.append(kind)
        self._packed += pickle.dumps(_read_own(prompt), pickle.HIGHEST_PROTOCOL)
        self._ends.append(len(self._packed))
        self._ids += bytes.fromhex(prompt.prompt_id + prompt.question_id)
        self._kind_of.append(number)
        self._held_out.append(prompt.split == "test")
        self._is_text.append(isinstance(prompt.prompt, str))
        self._is_carrying.append(bool(prompt.columns))

    def __len__(self) -> int:
        return len(self._ends)

    @overload
    def __getitem__(self, place: SupportsIndex) -> Prompt: ...

    @overload
    def __getitem__(self, place: slice) -> list[Prompt]: ...

    def __getitem__(self, place: SupportsIndex | slice) -> Prompt | list[Prompt]:
        """Return a prompt, or a list of those of a slice."""
        places = range(len(self))
        if isinstance(place, slice):
            return [self._make(number) for number in places[place]]
        return self._make(places[index(place)])

    def __iter__(self) -> Iterator[Prompt]:
        return map(self._make, range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(one == another for one, another in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    @property
    def prompt_ids(self) -> list[str]:
        """Their ids."""
        return [self._read_id(number, 0) for number in range(len(self))]

    @property
    def keys(self) -> Keys:
        """The ids of each and of its question, shape (prompts, 2)."""
        return np.frombuffer(self._ids, f"S{ID_BYTES}").reshape(-1, 2)

    @property
    def families(self) -> list[str]:
        """The family of each."""
        return [self._kinds[number][1] for number in self._kind_of]

    @property
    def kinds(self) -> set[bool]:
        """Whether they are texts, or chats: True where there is a text, False where there is a chat."""
        return {bool(is_text) for is_text in set(self._is_text)}

    @property
    def carry_columns(self) -> bool:
        """Whether any has columns of the row that it was read from."""
        return any(self._is_carrying)

    @property
    def verifiers(self) -> set[str]:
        """What judges them."""
        return {self._kinds[number][0] for number in set(self._kind_of)}

    def find_question(self, place: int) -> str:
        """Return the id of the question that the prompt at a place asks."""
        return self._read_id(place, 1)

    def take(self, places: Iterable[int]) -> PackedPrompts:
        """Return the prompts at these places, in this order."""
        chosen = array("Q", places)
        taken, ends, each = PackedPrompts(), self._ends, 2 * ID_BYTES
        taken._kinds, taken._numbers = self._kinds.copy(), self._numbers.copy()
        starts = array("Q", (ends[place - 1] if place else 0 for place in chosen))
        for place, start in zip(chosen, starts, strict=True):
            taken._packed += self._packed[start : ends[place]]
            taken._ids += self._ids[each * place : each * (place + 1)]
        taken._ends = array("Q", accumulate(ends[place] - start for place, start in zip(chosen, starts, strict=True)))
        taken._kind_of = array("I", (self._kind_of[place] for place in chosen))
        taken._held_out = bytearray(self._held_out[place] for place in chosen)
        taken._is_text = bytearray(self._is_text[place] for place in chosen)
        taken._is_carrying = bytearray(self._is_carrying[place] for place in chosen)
        return taken

    def list_rows(self) -> pl.DataFrame:
        """Return a row a prompt, in the order of their families, forms and ids.

        It has their `place` here, `prompt_id`, `verifier`, `family`, `form` and `split`: what takes little memory.
        """
        kinds = [kind[1:] for kind in self._kinds]
        ranks = {kind: rank for rank, kind in enumerate(sorted(set(kinds)))}
        kind_of = np.array(self._kind_of)
        places = np.lexsort((self.keys[:, 0], np.array([ranks[kind] for kind in kinds], np.int64)[kind_of]))
        columns = {"place": pl.Series(places, dtype=pl.UInt32), "prompt_id": self._write_ids(places)}
        for name, texts in zip(KIND, zip(*self._kinds, strict=True), strict=bool(kinds)):
            columns[name] = pl.Series(texts, dtype=pl.String).gather(kind_of[places])
        sides = np.frombuffer(self._held_out, np.uint8)[places]
        return pl.DataFrame({**columns, "split": pl.Series(SIDES, dtype=pl.String).gather(sides)})

    def with_split(self, held_out: Iterable[bool]) -> PackedPrompts:
        """Return the prompts, of which these are held out; they share their memory with those here."""
        split = PackedPrompts()
        split._packed, split._ends, split._ids = self._packed, self._ends, self._ids
        split._kind_of, split._kinds, split._numbers = self._kind_of, self._kinds, self._numbers
        split._is_text, split._is_carrying, split._held_out = self._is_text, self._is_carrying, bytearray(held_out)
        return split

    def _make(self, number: int) -> Prompt:
        start = self._ends[number - 1] if number else 0
        values = pickle.loads(memoryview(self._packed)[start : self._ends[number]])
        prompt = object.__new__(Prompt)  # whose ids are known, and take two hashes to find
        for name, value in zip((*OWN, *KIND), (*values, *self._kinds[self._kind_of[number]]), strict=True):
            _setters[name](prompt, value)
        _setters["split"](prompt, SIDES[self._held_out[number]])
        _setters["prompt_id"](prompt, self._read_id(number, 0))
        _setters["question_id"](prompt, self._read_id(number, 1))
        return prompt

    def _write_ids(self, places: NDArray[np.int64]) -> pl.Series:
        """Return the ids of the prompts at these places."""
        ids = np.frombuffer(self._ids, np.uint8).reshape(-1, 2 * ID_BYTES)[places, :ID_BYTES].tobytes()
        binary = pa.FixedSizeBinaryArray.from_buffers(pa.binary(ID_BYTES), len(places), [None, pa.py_buffer(ids)])
        return pl.Series(binary.cast(pa.binary())).bin.encode("hex")

    def _read_id(self, number: int, which: int) -> str:
        start = (2 * number + which) * ID_BYTES
        return self._ids[start : start + ID_BYTES].hex()


class PackedRows:
    """What is known of prompts, a row each, without their texts: these join the rows that are looked at.

    `rows` has the columns of `PackedPrompts.list_rows`, but for `place`, and any others.
    """

    def __init__(self, prompts: PackedPrompts, placed: pl.DataFrame) -> None:
        self.rows = placed.drop("place")
        self._prompts, self._places = prompts, placed["place"]

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, rows: pl.Series) -> pl.DataFrame:
        """Return some rows whole: the columns of `prompts_table` before the others."""
        places = self._places.gather(rows).to_list()
        # Of no rows too the column of prompts has the type that it has of all.
        texts = pl.DataFrame(prompts_table(self._prompts.take(places or range(min(1, len(self._prompts))))))
        others = self.rows[rows].drop("prompt_id", *KIND, "split")
        return pl.concat([texts.head(len(places)), others], how="horizontal").rechunk()

    def slice(self, start: int, length: int) -> pl.DataFrame:
        """Return so many rows from one on, whole."""
        return self[pl.int_range(start, min(start + length, len(self)), eager=True)]


class IdIndex:
    """The places of ids: some 20 bytes each, where a dictionary of texts takes 150."""

    def __init__(self, keys: Keys) -> None:
        self._order = np.argsort(keys, kind="stable")
        self._sorted = keys[self._order]

    def find(self, ids: Sequence[str]) -> NDArray[np.int64]:
        """Return the first place of each id. Raises `KeyError` for an id that has none."""
        keys = np.frombuffer(bytes.fromhex("".join(ids)), self._sorted.dtype)
        found = np.searchsorted(self._sorted, keys)
        known = found < len(self._sorted)
        if not known.all() or (self._sorted[found] != keys).any():
            raise KeyError(next(name for name in ids if not self[name]))
        return self._order[found]

    def __getitem__(self, name: str) -> list[int]:
        """Return all places of an id, in their order."""
        # Numpy would let go of the interpreter's lock, and wait for it again behind the threads that write and score.
        key = bytes.fromhex(name).rstrip(b"\0")  # as numpy gives elements
        first = end = bisect_left(self._sorted, key)
        while end < len(self._sorted) and self._sorted[end] == key:
            end += 1
        return [int(place) for place in self._order[first:end]]
