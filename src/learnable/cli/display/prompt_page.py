"""One prompt of a curated set as text: what was asked, what is known of it in words, and every completion."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from learnable.cli.display.fitted_table import figure
from learnable.cli.display.terminal_text import SafeConsole, print_text, shorten
from learnable.cli.flags import name_flags

if TYPE_CHECKING:
    from learnable.data.curated.manifest import Manifest
    from learnable.data.records import Row
    from learnable.flows.showing import ShownCompletion, ShownPrompt

MEANINGS = {
    "too_easy": "saturated",
    "too_hard": "beyond the policy",
    "zero_std": "its completions score alike",
    "low_std": "its completions score almost alike",
    "undecided": "its completions do not tell yet",
    "over_quota": "good enough, but there were others enough",
    "predicted_too_easy": "saturated, as was predicted of prompts like it; it was not sampled",
    "predicted_too_hard": "beyond the policy, as was predicted of prompts like it; it was not sampled",
    "unasked": "not sampled, since others were enough",
    "not_scored": "no completion has an honest score",
}


def shorten_prompt(prompt: str | Sequence[Mapping[str, str]]) -> str:
    r"""Return how a prompt begins, on one line; of a chat, how its last turn does.

    >>> shorten_prompt("Write a haiku\nabout rain."), shorten_prompt([{"role": "user", "content": "Hi"}])
    ('Write a haiku about rain.', 'user: Hi')
    """
    text = prompt if isinstance(prompt, str) else f"{prompt[-1]['role']}: {prompt[-1]['content']}"
    words = " ".join(text.split())
    limit = 120  # characters of a prompt in a list
    return words if len(words) <= limit else words[: limit - 1].rstrip() + "…"


def print_prompt(out: SafeConsole, shown: ShownPrompt, completions: Sequence[ShownCompletion], sort: str) -> None:
    """Print the prompt, its certificate, and these of its completions."""
    from learnable.flows.showing import set_name

    row = shown.row
    place = out.plain(f"  {row['form']}, {row['part']} of {set_name(shown.curated)}\n")
    out.print(Text.assemble("prompt ", out.plain(row["prompt_id"], "bold"), place), soft_wrap=True)
    for role, text in _turns(row["prompt"]):
        if role:
            out.print(out.plain(f"{role}:", "bold"))
        print_text(out, text)
    out.print()
    for label, fact in list_facts(shown):
        print_text(out, fact, label)
    print_group(out, shown, completions, sort)


def print_group(out: SafeConsole, shown: ShownPrompt, completions: Sequence[ShownCompletion], sort: str) -> None:
    """Print these of the prompt's completions, and how many others there are."""
    total, count = len(shown.completions or ()), len(completions)
    if total:
        out.print(Text(f"\n{total} completions, {'best first' if sort == 'reward' else 'by index'}", style="bold"))
    if shown.note:
        print_text(out, name_flags(shown.note), "note" if total else "completions")
    worst = count - count // 2 if sort == "reward" and count > 1 else count  # where the worst ones begin
    for completion in completions[:worst]:
        print_completion(out, completion, counts=_counts(completion, shown))
    if total > count:
        out.print(Text(f"\n... {total - count} more not shown: leave --completions out to see all", style="dim"))
    for completion in completions[worst:]:
        print_completion(out, completion, counts=_counts(completion, shown))


def list_facts(shown: ShownPrompt) -> Iterator[tuple[str, str]]:
    """Yield what is known of the prompt, each fact with its label."""
    row, manifest = shown.row, shown.curated.manifest
    version = manifest.verifiers.get(row["verifier"])
    yield "verifier", row["verifier"] + (f", version {version}" if version else "")
    yield "spec", shorten(json.dumps(json.loads(row["spec"]), ensure_ascii=False))
    sampling = ", ".join(f"{name} {_tell(value)}" for name, value in manifest.sampling.to_json().items())
    yield "policy", f"{manifest.policy.policy_id}, {sampling}"
    difficulty = "" if row["difficulty"] is None else f", difficulty {row['difficulty']:g}"
    yield "from", f"{row['source']}{difficulty}"
    if carried := _carried(row):
        yield "columns", carried
    meaning = MEANINGS.get(row["decision"])
    yield "decision", (row["decision"] or "none") + (f": {meaning}" if meaning else "")
    if row["triage"]:
        yield "triage", f"{row['triage']}: {row.get('evidence') or ''}"
    if row["n"]:
        yield "group", _group(row)
    if row["n"] or row.get("predicted_rate") is not None:
        if row.get("predicted_rate") is not None:
            yield "predicted", f"pass rate {figure(row['predicted_rate'])}"
        if row.get("p_keep") is not None:
            yield from _certificate(row, manifest)


def _tell(value: object) -> str:
    return f"{value:g}" if isinstance(value, int | float) else json.dumps(value, ensure_ascii=False)


def _carried(row: Row) -> str:
    """Return the columns of the prompt's own source."""
    from learnable.data.schemas import OUR_COLUMNS

    theirs = {name: value for name, value in row.items() if name not in OUR_COLUMNS and name != "part"}
    return shorten(", ".join(f"{name}={value!r}" for name, value in theirs.items() if value is not None))


def _group(row: Row) -> str:
    counted = f"{row['n']:,} completions count" + _not_counted(row)
    return f"{counted}: mean reward {figure(row['mean'])}, std {figure(row['std'])}, {row['passes']:,} passed"


def _not_counted(row: Row) -> str:
    left_out = (row.get("rollouts") or row["n"]) - row["n"]
    return f" (of {row['rollouts']:,})" if left_out else ""


def _certificate(row: Row, manifest: Manifest) -> Iterator[tuple[str, str]]:
    """Yield the certificate in words."""
    band = manifest.band
    measured = "true mean" if band.signal == "reward" else "true rate"
    yield (
        measured,
        (
            f"{figure(row['ci_low'])} to {figure(row['ci_high'])} (90% interval); "
            f"{row['p_in_band']:.0%} likely in the band {figure(band.low)} to {figure(band.high)}"
        ),
    )
    yield (
        "true std",
        (
            f"{figure(row['std_low'])} to {figure(row['std_high'])} (90% interval); "
            f"{row['p_min_std']:.0%} likely {figure(band.min_std)} or more"
        ),
    )
    if (variance := row.get("expected_within_variance")) is not None:
        yield "expected", f"within-group variance {figure(variance, 3)}, of .25 at most"
    yield "p_keep", f"{row['p_keep']:.1%} likely to belong in the set"
    yield "usable", f"{row['usable_at_g']:.1%} of groups of {manifest.group_size} would have any spread"


def print_completion(out: SafeConsole, one: ShownCompletion, *, counts: bool) -> None:
    """Print one completion under its score; `counts` says whether the certificate rests on it."""
    reward, passed = one.reward, one.passed
    style = "dim" if reward is None else "green" if passed else "red"
    judged = "not scored" if reward is None else f"reward {figure(reward)}, {'passed' if passed else 'not passed'}"
    ended = "ran out of tokens after" if one.finish_reason == "length" else "ended after"
    left_out = "" if counts else "; left out of the group"
    tokens = f"{one.num_tokens:,} token{'s' * (one.num_tokens != 1)}"
    out.print(
        Text.assemble("\n", (f"#{one.rollout_index}", "bold"), "  ", (judged, style), f"; {ended} {tokens}{left_out}")
    )
    if one.components:
        print_text(out, ", ".join(f"{name} {figure(value)}" for name, value in one.components.items()), style="dim")
    if one.reason:
        print_text(out, one.reason, style="dim")
    if one.reasoning:
        print_text(out, f"thought, {one.reasoning_tokens:,} tokens: {shorten(one.reasoning)}", style="dim")
    print_text(out, one.completion or "(empty)")


def _counts(one: ShownCompletion, shown: ShownPrompt) -> bool:
    excluded = shown.curated.manifest.truncated == "exclude" and one.verdict == "truncated"
    return one.reward is not None and not excluded


def _turns(prompt: str | Sequence[Mapping[str, str]]) -> list[tuple[str, str]]:
    return [("", prompt)] if isinstance(prompt, str) else [(turn["role"], turn["content"]) for turn in prompt]
