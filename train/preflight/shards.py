"""Do a curated set's shards have what training and evaluation need, and do its prompts fit the policy's context?"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from heapq import nlargest
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from learnable.data.curated.curated_set import COMBINED, UNKEPT_PARTS, CuratedSet
from learnable.data.curated.manifest import Manifest
from learnable.data.errors import LearnableError, UnknownNameError, nearest_names
from learnable.data.policies import Policy, read_context_length
from learnable.train.settings import TrainSettings
from learnable.verifiers.registry import check_trusted, find_verifier, source_hash

NEEDED_COLUMNS = ("prompt", "verifier", "spec")
HOW_TO_GET = {
    "reserve": "curate it with `preset` hard-biased, or with a preset file of yours that has a reserve",
    "demonstrations": "curate it again with find-learnable",
    "preferences": "curate it again with find-learnable, which takes the completions that its store has",
}
NOTHING_KEPT = (
    "kept no prompt to train on: widen `band`, or curate other prompts (its rejects say why each one fell out)"
)
WHY_EMPTY = {
    "reserve": "has no prompt in its reserve: curate more prompts, or train on `part` train",
    "demonstrations": "has no demonstration, since no completion of a kept prompt passed: train with `method` grpo",
    "preferences": "has no pair of completions whose rewards are `dpo_margin` apart: give a smaller one, or train with "
    "`method` grpo",
}


def check_families(settings: TrainSettings, curated: CuratedSet) -> None:
    """Raise `LearnableError` for a family that the set has no prompt of."""
    part = settings.named_part
    if settings.families and curated.shards(part):
        known = pc.unique(curated.read(part, columns=["family"])["family"]).to_pylist()
        for family in settings.families:
            if family not in known:
                raise UnknownNameError(f"family of {str(curated.path)!r}", family, map(str, known))


def count_rows(curated: CuratedSet, part: str, families: Collection[str] = ()) -> int:
    """Count the rows of a part. Raises `LearnableError` for a broken shard."""
    return int(curated.read(part, families).num_rows) if curated.shards(part) else 0


def check_rows(settings: TrainSettings, curated: CuratedSet, rows: Mapping[str, int]) -> None:
    """Raise `LearnableError` when a part lacks rows or columns that training or evaluation needs."""
    where = str(curated.path)
    part, count = settings.rows_part, rows[settings.rows_part]
    if not curated.shards(part):
        how = HOW_TO_GET.get(part, "curate it with find-learnable")
        raise LearnableError(f"curated set {where!r} has no {part}-*.parquet shard: {how}")
    if not count:
        raise LearnableError(f"curated set {where!r} {WHY_EMPTY.get(part, NOTHING_KEPT)}")
    if settings.evaluate and not (rows["test"] or settings.measured_on):
        raise LearnableError(
            f"curated set {where!r} holds out no test prompts, so before and after cannot be compared: curate more "
            "prompts or raise `test_share`, or train without evaluation with `evaluate=False`"
        )
    check_columns(curated, part)
    if settings.prompts_per_step > count:
        max_batch = count * settings.completions_per_prompt
        raise LearnableError(
            f"`batch_size` {settings.batch_size} takes {settings.prompts_per_step} prompts a step, but "
            f"{where!r} has {count} to train on: give `batch_size` {max_batch} or less, or curate more prompts"
        )


def check_columns(curated: CuratedSet, part: str) -> None:
    """Raise `LearnableError` when a shard of a part or of `test` lacks a column that the reward function reads."""
    for stored in _list_stored(curated, part):
        if not set(NEEDED_COLUMNS) <= set(curated.read(stored).column_names):
            refuse_shards_without_columns(curated, stored)


def refuse_shards_without_columns(curated: CuratedSet, part: str) -> None:
    """Raise `LearnableError` that names the first shard of a part that lacks a needed column, if one does."""
    for shard in curated.shards(part):
        columns = pq.read_schema(str(shard)).names
        for needed in NEEDED_COLUMNS:
            if needed not in columns:
                near = nearest_names(needed, columns)
                hint = f"rename {near[0]!r}, " if near else ""
                raise LearnableError(
                    f"shard {str(shard)!r} has no column {needed!r} (it has {', '.join(columns)}): {hint}or curate "
                    "the set again with find-learnable"
                )


def check_verifiers(curated: CuratedSet, part: str) -> list[str]:
    """Return a warning for each verifier that is another than that which the set was curated with.

    Raises `LearnableError` when a prompt names one that cannot be loaded, or that no person has named: none of its
    rewards would count.
    """
    names: dict[str, str] = {}
    for one in (part, *(("test",) if curated.shards("test") else ())):
        verifiers = pc.unique(curated.read(one, columns=["verifier"])["verifier"]).to_pylist()
        names = dict.fromkeys(map(str, verifiers), one) | names
    for name, first in names.items():
        try:
            check_trusted([name])
            find_verifier(name)
        except LearnableError as error:
            raise LearnableError(f"{_find_place(curated, first, name)}: {error}") from error
    return find_changed_verifiers(curated.manifest, dict.fromkeys(names, str(curated.path)))


def find_changed_verifiers(manifest: Manifest, places: Mapping[str, str]) -> list[str]:
    """Return a warning for each verifier whose version, or whose source, is not as a set's manifest records it.

    `places` says where the set names each. Raises `LearnableError` for one that cannot be loaded.
    """
    warnings = []
    for name, place in places.items():
        try:
            verifier = find_verifier(name)
        except LearnableError as error:
            raise LearnableError(f"{place}: {error}") from error
        version, source = verifier.version, source_hash(verifier)
        before, source_before = (
            manifest.verifiers.get(name, version),
            (manifest.verifier_sources or {}).get(name, source),
        )
        if before != version:
            warnings.append(
                f"verifier {name!r} has changed: the set was curated with its version {before}, and {version} gives "
                "the rewards here. Type the set's find-learnable command again: it judges the completions of the store "
                "anew, and draws only what is missing"
            )
        elif source_before != source:
            warnings.append(
                f"verifier {name!r} still says that it is version {version}, but its source has changed (its hash is "
                f"{source}, and was {source_before} when the set was curated): look at what it does before you trust "
                "its rewards, and raise its version where its rules are others"
            )
    return warnings


def has_chats(curated: CuratedSet, part: str) -> bool:
    """Whether the prompts of a part, or of `test`, are lists of messages."""
    stored = _list_stored(curated, part)
    return any(pa.types.is_nested(curated.read(one).schema.field("prompt").type) for one in stored)


def check_lengths(settings: TrainSettings, policy: Policy, longest: int | None) -> None:
    """Raise `LearnableError` when the longest prompt and a full completion together exceed the policy's context.

    `longest` is in tokens. A policy on the hub is not checked: its files may not be here yet.
    """
    context, max_tokens = read_context_length(policy), settings.sampling.max_tokens
    if context and longest and longest + max_tokens > context:
        room = context - longest
        fix = f"give `max_completion_length` {room} or less" if room > 0 else "curate the set again for this policy"
        raise LearnableError(
            f"`max_completion_length` {max_tokens} and the longest prompt ({longest} tokens) pass the context of "
            f"{context} tokens of {policy.path!r}: {fix}"
        )


def measure_longest_prompt(texts: Iterable[str], policy: Policy) -> int | None:
    """Return the tokens of the longest prompt, without a chat template's own; None without a local tokenizer."""
    path = Path(policy.path) / "tokenizer.json"
    if not path.is_file():
        return None
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    longest = nlargest(64, texts, key=len)  # in characters: the longest in tokens is among them
    return max((len(encoding.ids) for encoding in tokenizer.encode_batch(longest)), default=None)


def read_prompt_texts(curated: CuratedSet, part: str, families: Collection[str] = ()) -> list[str]:
    """Return the text of each prompt of a part, of all families or of the named ones; the turns of a chat are joined.

    Raises `LearnableError` for a broken shard.
    """
    if not curated.shards(part):
        return []
    return [join_turns(prompt) for prompt in curated.read(part, families, ["prompt"])["prompt"].to_pylist()]


def _list_stored(curated: CuratedSet, part: str) -> list[str]:
    """Return the parts with shards of which a part is read, and `test` after them."""
    parts = (*(("train", *UNKEPT_PARTS) if part in COMBINED else (part,)), "test")
    return [one for one in parts if curated.shards(one)]


def _find_place(curated: CuratedSet, part: str, verifier: str) -> str:
    """Return where a set first names a verifier: in which shard, or in which part where it is read from several."""
    for shard in curated.shards(part) if part not in COMBINED else ():
        if verifier in pq.read_table(str(shard), columns=["verifier"])["verifier"].to_pylist():
            return f"shard {str(shard)!r}"
    return f"{part} of {str(curated.path)!r}"


def join_turns(prompt: Any) -> str:
    """Return a prompt or a completion as a text: the turns of a chat in lines."""
    return prompt if isinstance(prompt, str) else "\n".join(turn["content"] or "" for turn in prompt)
