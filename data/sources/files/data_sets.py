"""Rows of folders and of the hub, through `datasets`: saved data sets, folders of files, and what it opens itself."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from learnable.data.errors import LearnableError
from learnable.data.progress import progress
from learnable.data.sources.files.bad_rows import OnBad, refuse
from learnable.data.sources.files.locations import READABLE_FILES, SUFFIXES, file_suffix, nearest_paths
from learnable.data.sources.files.readers import FileRows, file_rows


def data_set_rows(
    location: str,
    folder: Path | None,
    split: str,
    on_bad: OnBad = refuse,
    columns: Collection[str] | None = None,
    what: str = "prompts",
) -> FileRows:
    """Yield the rows of one split of a `folder`, or of a hub id, each with the place it came from.

    A hub id may name one of several parts of a data set, its configuration: `org/name:part`.

    Read are what `Dataset.save_to_disk` wrote, folders of files with one of `SUFFIXES`, by the rules of
    `datasets.load_dataset` for which file is of which split, and whatever else that opens. `columns` is what is looked
    at, where that is not every column; messages call it `what` and `location`.

    Raises `LearnableError` naming the place and the fix.
    """
    if folder is None:
        _look_on_hub(location, what)
        name, _, part = location.partition(":")
        return _streamed_rows(location, name, split, columns, what, part or None)
    if is_saved(folder):
        return _number_rows(location, _open_saved(location, folder, split, what, tell=columns is None), columns)
    files = _split_files(location, folder, split, what)
    if files and all(file_suffix(file) in SUFFIXES for file in files):
        return (pair for file in files for pair in file_rows(file, on_bad, columns, split))
    return _streamed_rows(location, str(folder.resolve()), split, columns, what)


def split_names(location: str, folder: Path | None, what: str = "prompts") -> list[str]:
    """Return the names of the splits of a folder or a hub id. Raises `LearnableError` where it cannot be opened."""
    if folder is not None and is_saved(folder):
        saved = _load_saved(location, folder, what)
        return list(saved) if isinstance(saved, dict) else ["train"]
    if folder is None:
        _look_on_hub(location, what)
    else:
        _check_card(location, folder, what)
    from datasets import get_dataset_split_names

    try:
        name, _, part = location.partition(":")
        return list(
            get_dataset_split_names(str(folder.resolve()) if folder else name, None if folder else part or None)
        )
    except Exception as error:  # datasets raises its own, hub, network and parser errors alike
        raise _cannot_open(location, what, error) from error


def is_saved(folder: Path) -> bool:
    """Whether `save_to_disk` of a `Dataset` or a `DatasetDict` wrote this folder."""
    return (folder / "dataset_dict.json").is_file() or (
        (folder / "state.json").is_file() and (folder / "dataset_info.json").is_file()
    )


def _open_saved(location: str, folder: Path, split: str, what: str, *, tell: bool) -> Any:
    saved = _load_saved(location, folder, what)
    if not isinstance(saved, dict):
        return saved
    if split not in saved:
        raise _no_split(location, split, saved, what)
    if tell and len(saved) > 1:
        progress().note(f"{what} {location!r} has the splits {', '.join(saved)}: {split} is read (`dataset_split`)")
    return saved[split]


def _load_saved(location: str, folder: Path, what: str) -> Any:
    from datasets import load_from_disk

    try:
        return load_from_disk(str(folder)).with_format(None)
    except Exception as error:  # datasets raises its own, Arrow's and those of files alike
        raise LearnableError(
            f"{what} {location!r} was saved by datasets and cannot be read: {_reason(error)}"
        ) from error


def _split_files(location: str, folder: Path, split: str, what: str) -> list[Path]:
    """Return the files that `datasets` takes for a split of a folder; none where it cannot say."""
    from datasets import load_dataset_builder

    _check_card(location, folder, what)
    place = str(folder.resolve())
    try:
        files = load_dataset_builder(place).config.data_files or {}
    except Exception as error:  # an empty folder, or one that datasets does not know: opening it says why
        if any(sign in place for sign in "*?["):
            raise LearnableError(
                f"{what} {location!r}: datasets takes a folder's name for a pattern: rename {place!r} without '*', '?' "
                "and '['"
            ) from error
        return []
    if files and split not in files:
        raise _no_split(location, split, files, what)
    return [Path(file) for file in files.get(split, ())]


def _check_card(location: str, folder: Path, what: str) -> None:
    """Raise `LearnableError` where a folder's card names files elsewhere, which `datasets` would open or ask for."""
    import yaml  # type: ignore[import-untyped]  # datasets brings it
    from huggingface_hub.repocard import metadata_load

    # In these `datasets` looks for the files of a folder.
    for name in ("README.md", ".huggingface.yaml"):
        if not (card := folder / name).is_file():
            continue
        try:
            text = card.read_text(encoding="utf-8")
            metadata = metadata_load(card) if name.endswith(".md") else yaml.safe_load(text)
        except (OSError, ValueError, yaml.YAMLError):
            continue  # datasets reads it in the same way, and says why it cannot
        for pattern in _list_texts((metadata or {}).get("configs") if isinstance(metadata, dict) else None, set()):
            if Path(pattern).is_absolute() or ".." in Path(pattern).parts or "://" in pattern or "::" in pattern:
                raise _outside(location, what, f"{name} names {pattern!r} in its configs")


def _check_files(location: str, place: str, files: Mapping[Any, Sequence[object]], what: str) -> None:
    """Raise `LearnableError` for files of a data set that lie elsewhere than it: of the hub's, on this disk."""
    own = f"{place.rstrip('/')}/" if Path(place).is_dir() else "hf://"
    for file in (str(file) for split in files.values() for file in split):
        if not file.startswith(own):
            raise _outside(location, what, f"it names {file!r}")


def _outside(location: str, what: str, names: str) -> LearnableError:
    return LearnableError(
        f"{what} {location!r}: {names}, which lies outside it: a data set is read where it is, so give `location` that "
        "file itself if you want it"
    )


def _list_texts(value: Any, ids: set[int]) -> Iterator[str]:
    """Yield the texts anywhere in what YAML held; what stands in it twice, once."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list) and id(value) not in ids:
        ids.add(id(value))
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _list_texts(inner, ids)


def _no_split(location: str, split: str, known: Iterable[object], what: str) -> LearnableError:
    names = ", ".join(map(str, known))
    return LearnableError(f"{what} {location!r} has no split {split!r}: name one of {names} with `dataset_split`")


def _streamed_rows(
    location: str, place: str, split: str, columns: Collection[str] | None, what: str, part: str | None = None
) -> FileRows:
    from datasets import load_dataset_builder

    try:
        builder = load_dataset_builder(place, part)
        _check_files(location, place, builder.config.data_files or {}, what)
        yield from _number_rows(location, builder.as_streaming_dataset(split=split), columns)
    except LearnableError:
        raise
    except Exception as error:  # datasets raises its own, hub, network and parser errors alike
        raise _cannot_open(location, what, error, f" with split {split!r}") from error


def _number_rows(location: str, dataset: Any, columns: Collection[str] | None) -> FileRows:
    known = dataset.column_names
    if columns is not None and known is not None:
        dataset = dataset.select_columns([name for name in known if name in columns])
    rows: Iterable[Any] = dataset
    for number, row in enumerate(rows, start=1):
        yield f"{location}, row {number}", row


def _look_on_hub(location: str, what: str) -> None:
    """Raise `LearnableError` where the hub has no such data set, or cannot be reached.

    It is asked once. `datasets` asks six times, which takes half a minute, and says so in lines of its own.
    """
    from huggingface_hub import HfApi, constants
    from huggingface_hub.errors import RepositoryNotFoundError

    if constants.HF_HUB_OFFLINE:  # there may be a copy in the cache, and nothing is waited for
        return
    try:
        HfApi().dataset_info(location.partition(":")[0], timeout=20.0)
    except RepositoryNotFoundError as error:
        why = "the hub has no such data set, or none that you may read"
        raise LearnableError(f"{what} {location!r} is no file or folder here, and {why}{_offer(location)}") from error
    except Exception as error:  # the hub's other kinds, and those of the transport that its client happens to use
        why = f"the hub cannot be asked ({_reason(error)})"
        raise LearnableError(f"{what} {location!r} is no file or folder here, and {why}{_offer(location)}") from error


def _cannot_open(location: str, what: str, error: Exception, how: str = "") -> LearnableError:
    return LearnableError(
        f"{what} {location!r}: neither a file that is read ({READABLE_FILES}) nor a data set that "
        f"datasets.load_dataset opens{how}: {_reason(error)}{_offer(location)}"
    )


def _offer(location: str) -> str:
    near = [] if Path(location).exists() else nearest_paths(Path(location))
    return f"; did you mean {near[0]!r}?" if near else ""


def _reason(error: Exception) -> str:
    if "Config name is missing" in str(error):  # with the names on the next line
        return f"{' '.join(str(error).splitlines()[:2])}: name one behind a colon, as in org/name:part"
    return str(error).splitlines()[0] if str(error) else type(error).__name__
