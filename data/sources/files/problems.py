"""Problems by their ids: completions that name a problem are judged by what its table says is right."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from learnable.data.errors import LearnableError, nearest_names
from learnable.data.records import Prompt, Row, canonical_json
from learnable.data.sources.files.columns import Columns
from learnable.data.sources.files.rows import prompts_from_rows

ID_KEYS = ("task_id", "prompt_id", "id")


def row_ids(row: Row) -> dict[str, str]:
    """Return the keys of a row that name its problem, each with the name as text.

    >>> row_ids({"task_id": 7, "completion": "x"})
    {'task_id': '7'}
    """
    return {key: str(row[key]) for key in ID_KEYS if isinstance(row.get(key), str | int)}


def problems_by_id(rows: Iterable[tuple[str, Row]], verifier: str, source: str) -> dict[str, Prompt]:
    """Return the problems of a table under every id that their rows have.

    Args:
        rows: each with the place it came from, as `location_rows` reads them.
        verifier: the judge of rows that name none.
        source: the table's name.

    Raises `LearnableError` for a row that is not a prompt or has no id, and for an id that two different problems have.
    """
    return dict(_named(rows, verifier, source))


def find_problem(problems: Mapping[str, Prompt], row: Row, source: str) -> Prompt:
    """Return the problem that a row names. Raises `LearnableError` where it names none, with the nearest there is."""
    ids = row_ids(row)
    if not ids:
        raise LearnableError(
            f"no id of a problem in {source}: add one of {', '.join(ID_KEYS)}; keys here: {sorted(row)}"
        )
    for name in ids.values():
        if name in problems:
            return problems[name]
    key, name = next(iter(ids.items()))
    near = nearest_names(name, problems)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise LearnableError(f"{key} {name!r} is not a problem of {source}: give one of its ids{hint}")


def _named(rows: Iterable[tuple[str, Row]], verifier: str, source: str) -> Iterator[tuple[str, Prompt]]:
    places: dict[str, str] = {}
    for place, row in rows:
        [prompt] = prompts_from_rows([(place, row)], Columns(verifier=verifier), source)
        ids = row_ids(row)
        if not ids:
            raise LearnableError(f"{place}: the problem has no id: add a column {' or '.join(ID_KEYS)}")
        problem = canonical_json([prompt.text, prompt.spec])
        for key, name in ids.items():
            if places.setdefault(name, problem) != problem:
                raise LearnableError(f"{place}: {key} {name!r} names another problem already: give each its own id")
            yield name, prompt
