"""A store as `learnable view` reads it: its sets, their prompts, their completions, and what is being written."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq

from learnable.data.curated.curated_set import CuratedSet, find_versions, open_curated
from learnable.data.errors import LearnableError, nearest_names
from learnable.data.ledger.ledger import Draw
from learnable.data.ledger.partition import Chunk, Partition
from learnable.data.records import JsonObject
from learnable.data.schemas import LEDGER
from learnable.data.storage.places import local_path
from learnable.data.store import Store
from learnable.data.tables import prompt_from_row
from learnable.viewing.details import describe_completions, describe_prompt, explain
from learnable.viewing.groups import read_groups
from learnable.viewing.prompts import read_figures, read_heads, read_question_ids, scan_pool
from learnable.viewing.queries import Query, find_places
from learnable.viewing.searches import PATIENCE, Search, read_rows
from learnable.viewing.summary import summarise_version
from learnable.viewing.training import METRICS, read_run

REMEMBERED = 3  # versions whose tables are in memory
LATEST = 24  # completions of a policy that the live view shows


class Version:
    """A version that is looked at: its table of figures, and the beginnings of its prompts once they are asked for."""

    def __init__(self, curated: CuratedSet) -> None:
        self.curated = curated
        self.rows = read_figures(curated)
        self._heads: pl.DataFrame | None = None
        self._questions: pl.DataFrame | None = None
        self._reading, self._naming = threading.Lock(), threading.Lock()

    @property
    def heads(self) -> pl.DataFrame:
        """How each prompt begins, in the order of `rows`."""
        with self._reading:
            if self._heads is None:
                self._heads = read_heads(self.curated)
            return self._heads

    def find_prompts(self, questions: pl.Series) -> pl.Series:
        """Return the ids of the prompts that ask these questions."""
        theirs = self.questions.filter(pl.col("question_id").is_in(questions.unique().implode()))
        return theirs["prompt_id"]

    @property
    def questions(self) -> pl.DataFrame:
        """The `question_id` of each `prompt_id`."""
        with self._naming:
            if self._questions is None:
                self._questions = read_question_ids(self.curated)
            return self._questions


class Library:
    """Reads a store, and training runs beside it. Nothing here writes. Threads may share it."""

    def __init__(self, store: Store, runs: Path) -> None:
        self.store = store
        self.runs = runs
        self._versions: OrderedDict[str, Version] = OrderedDict()
        self._found: OrderedDict[tuple[str, Query, int], pl.Series] = OrderedDict()
        self._searches: OrderedDict[tuple[str, str], Search] = OrderedDict()
        self._counted: dict[str, int] = {}
        self._indexed: set[str] = set()
        self._lock = threading.RLock()
        self._reading = threading.Lock()  # the ledger remembers which files it saw

    def list_sets(self) -> list[JsonObject]:
        """Return every version of every set, the newest first."""
        folders = list(self.store.curated.iterdir()) if self.store.curated.is_dir() else []
        versions = [open_curated(version) for folder in folders for version in find_versions(folder)]
        told = [
            {
                "set": f"{one.path.parent.name}/{one.path.name}",
                "name": one.path.parent.name,
                "version": one.path.name,
                "created": one.manifest.created,
                "kept": sum(one.manifest.parts[part].rows for part in ("train", "test") if part in one.manifest.parts),
            }
            for one in versions
        ]
        return sorted(told, key=lambda row: (row["created"], row["version"]), reverse=True)

    def summarise(self, name: str) -> JsonObject:
        """Return the figures of a version, with the training runs on it. Raises `LearnableError` for no version."""
        version = self._open(name)
        summary = summarise_version(version.curated, version.rows)
        return summary | {"runs": list(self._read_runs(version.curated)), "scores": None, "sample": None}

    def count(self, name: str, query: Query) -> tuple[int, float]:
        """Return how many prompts a query finds, and the share of the files of completions that it has searched."""
        searched = self._look(name, query, PATIENCE)[1] if query.in_completions else 1.0
        return len(self._find(name, query)), searched

    def list_rows(self, name: str, query: Query, start: int, stop: int) -> list[JsonObject]:
        """Return the rows that a query finds, from one place to another."""
        version, places = self._open(name), self._find(name, query)[start:stop]
        rows = pl.concat([version.rows[places], version.heads[places]], how="horizontal")
        self._index_soon(name, version)
        return _to_json(rows)

    def find_place(self, name: str, query: Query, prompt_id: str) -> int:
        """Return where a prompt is among those that a query finds; -1 where it is not."""
        version, places = self._open(name), self._find(name, query)
        at = (version.rows["prompt_id"][places] == prompt_id).arg_max()
        return at if at is not None and len(places) and version.rows["prompt_id"][int(places[at])] == prompt_id else -1

    def read_row(self, name: str, prompt_id: str) -> JsonObject | None:
        """Return a prompt's row; None where the version has no such prompt."""
        version = self._open(name)
        place = (version.rows["prompt_id"] == prompt_id).arg_true()[:1]
        found = _to_json(pl.concat([version.rows[place], version.heads[place]], how="horizontal"))
        return found[0] if found else None

    def read_prompt(self, name: str, prompt_id: str) -> JsonObject | None:
        """Return a prompt with all its completions; None where the version has no such prompt."""
        curated = self._open(name).curated
        found = scan_pool(curated).filter(pl.col("prompt_id") == prompt_id).head(1).collect()
        if found.is_empty():
            return None
        row = found.row(0, named=True)
        prompt = prompt_from_row(row, str(curated.path))
        with self._reading:
            group = read_groups(self.store.ledger, curated.manifest, [prompt], errors=True)
        return describe_prompt(row, describe_completions(group, curated.manifest))

    def explain(self, name: str, prompt_id: str, index: int) -> JsonObject | None:
        """Return why a completion scores as it does, line by line; None where nothing can say so."""
        described, row = self.read_prompt(name, prompt_id), self.read_row(name, prompt_id)
        if described is None or row is None:
            return None
        texts = [one["text"] for one in described["completions"] if one["index"] == index]
        question = described["prompt"]
        words = question if isinstance(question, str) else question[-1][1]
        return explain(row["verifier"], texts[0], described["spec"], words) if texts else None

    def stamp(self) -> str:
        """Return what changes when the store has more than before."""
        files = [chunk.name for table in LEDGER for part in self._partitions(table) for chunk in part.chunks()[-1:]]
        counts = [len(part.chunks()) for table in LEDGER for part in self._partitions(table)]
        return f"{hash((*files, *counts, *(row['set'] for row in self.list_sets()))):x}"

    def list_live(self) -> list[JsonObject]:
        """Return each policy and sampling with how many rollouts it has, and the latest of them with their scores."""
        told = []
        for partition in self._partitions("rollouts"):
            chunks = partition.chunks()
            latest = read_rows(chunks[-1], "rollout_id", "policy_id", "completion", "num_tokens")
            shown = latest.tail(LATEST).reverse()
            scored = shown.join(self._latest_scores(partition), on="rollout_id", how="left", maintain_order="left")
            told.append(
                {
                    "policy": shown["policy_id"][0] or partition.folder.parent.name,
                    "sampling": partition.folder.name,
                    "rollouts": sum(map(self._count_rows, chunks)),
                    "changed": _tell_time(chunks[-1]),
                    "latest": _to_json(
                        scored.select("prompt_id", "completion", "reward", "passed", "reason", tokens="num_tokens")
                    ),
                }
            )
        return sorted(told, key=lambda row: str(row["changed"]), reverse=True)

    def _open(self, name: str) -> Version:
        with self._lock:
            if name not in self._versions:
                known = [row["set"] for row in self.list_sets()]
                if name not in known:
                    near = nearest_names(name, known)
                    raise LearnableError(f"the store has no {name!r}: it has {', '.join(near or known) or 'no set'}")
                self._versions[name] = Version(open_curated(self.store.curated / name))
                if len(self._versions) > REMEMBERED:
                    self._versions.popitem(last=False)
            self._versions.move_to_end(name)
            return self._versions[name]

    def _find(self, name: str, query: Query) -> pl.Series:
        """Return the places of what a query finds. The last ones are remembered, until more is found."""
        version = self._open(name)
        questions = self._look(name, query)[0] if query.in_completions else None
        key = (name, query, 0 if questions is None else len(questions))
        with self._lock:
            if key in self._found:
                return self._found[key]
        hits = self._search(version, query, questions) if query.text else None
        places = find_places(version.rows, query, hits)
        with self._lock:
            self._found[key] = places
            if len(self._found) > REMEMBERED * 4:
                self._found.popitem(last=False)
        return places

    def _search(self, version: Version, query: Query, questions: pl.Series | None) -> pl.Series:
        """Return the ids of the prompts in which a text stands, in any case, or that ask these questions."""
        ids = version.rows["prompt_id"]
        found = [ids.clear()]
        if query.scope != "completions":
            mine = version.heads["head"].str.to_lowercase().str.contains(query.text, literal=True)
            found.append(ids.filter(mine | ids.str.starts_with(query.text)))
        if questions is not None and len(questions):
            found.append(version.find_prompts(questions))
        return pl.concat(found).unique()

    def _look(self, name: str, query: Query, patience: float = 0.0) -> tuple[pl.Series, float]:
        manifest = self._open(name).curated.manifest
        draw = Draw(manifest.policy.policy_id, manifest.sampling).folder
        with self._lock:
            search = self._searches.setdefault((draw, query.text), Search(query.text))
            self._searches.move_to_end((draw, query.text))
            if len(self._searches) > REMEMBERED * 4:
                self._searches.popitem(last=False)
        chunks = Partition(self.store.root / "rollouts" / draw, LEDGER["rollouts"]).chunks()
        return search.look(chunks, patience)

    def _index_soon(self, name: str, version: Version) -> None:
        """Learn what a search needs, and which file has which prompt: in a large ledger that takes seconds."""
        with self._lock:
            if name in self._indexed:
                return
            self._indexed.add(name)
        threading.Thread(target=self._index, args=[version], name="index").start()

    def _index(self, version: Version) -> None:
        with self._reading, suppress(LearnableError, OSError):  # whoever opens a prompt is told
            manifest = version.curated.manifest
            self.store.ledger.learn_keys(Draw(manifest.policy.policy_id, manifest.sampling), manifest.verifiers)
        with suppress(LearnableError, OSError):  # whoever searches is told
            _ = version.questions

    def _partitions(self, table: str) -> list[Partition]:
        return [one for one in self.store.ledger.partitions(table) if one.chunks()]

    def _latest_scores(self, partition: Partition) -> pl.DataFrame:
        draw = self.store.root / "scores" / partition.folder.parent.name / partition.folder.name
        folders = sorted(draw.iterdir(), key=str) if draw.is_dir() else []
        newest = [chunks[-1] for folder in folders if (chunks := Partition(folder, LEDGER["scores"]).chunks())]
        columns = ["rollout_id", "prompt_id", "reward", "passed", "reason"]
        tables = [read_rows(chunk, *columns) for chunk in newest]
        empty = pl.DataFrame(LEDGER["scores"].schema.empty_table().select(columns))
        return pl.concat([empty, *tables]).unique("rollout_id", keep="last")

    def _count_rows(self, chunk: Chunk) -> int:
        if chunk.name not in self._counted:
            with chunk.path.open("rb") as file:
                self._counted[chunk.name] = pq.read_metadata(file).num_rows
        return self._counted[chunk.name]

    def _read_runs(self, curated: CuratedSet) -> Iterator[JsonObject]:
        """Yield the training runs on a version, and those of its set that have not ended."""
        here = (curated.path.parent.name, curated.path.name)
        for folder in sorted(self.runs.iterdir()) if self.runs.is_dir() else ():
            if (folder / METRICS).is_file():
                run = read_run(folder)
                begun = not run["verdict"] and folder.name.startswith(f"{here[0]}-")
                if tuple(run["curated"]) == here or begun:
                    yield run


def _to_json(rows: pl.DataFrame) -> list[JsonObject]:
    floats = [name for name, kind in rows.schema.items() if kind.is_float()]
    return rows.with_columns(pl.col(floats).fill_nan(None)).to_dicts()


def _tell_time(chunk: Chunk) -> str:
    local = local_path(chunk.path)
    if local is None:
        return ""
    return datetime.fromtimestamp(local.stat().st_mtime, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
