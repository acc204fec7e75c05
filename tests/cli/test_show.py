"""`learnable show`: the prompts of a set, one prompt with its completions, and what is said of what is not there."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from learnable.data.curated.curated_set import open_curated
from learnable.data.tables import hash_file
from tests.cli.files_for_tests import OnATerminal
from tests.flows.scripted_shell_for_tests import ScriptedShell

LONG = "because " * 40 + "end"
SCRIPT = {
    "always": ["yes"],
    "never": ["no"],
    **{f"sometimes {number}": ["yes", "yes", f"no {LONG}", "\x1b[31mno"] for number in range(6)},
}
FIND = (
    "--store",
    "store",
    "--prompts",
    "q.jsonl",
    "--verifier",
    "choice",
    "--sampling",
    "fixed",
    "--group-size",
    "8",
    "--name",
    "q",
)
SET = "store/curated/q"


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the store that every test begins with: the first one fills it."""
    return tmp_path_factory.mktemp("template")


@pytest.fixture
def shell(
    tmp_path: Path, template: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> ScriptedShell:
    monkeypatch.chdir(tmp_path)
    shell = ScriptedShell(tmp_path, capfd, dict(SCRIPT))
    shell.write_rows([{"prompt": text, "answer": "yes", "form": text.split()[0]} for text in SCRIPT], "q.jsonl")
    if not (template / "store").exists():
        assert shell.find(*FIND).status == 0
        shutil.copytree("store", template / "store")
    else:
        shutil.copytree(template / "store", "store")
    return shell


def listed(shell: ScriptedShell, *arguments: str) -> dict[str, Any]:
    return shell.type("show", *arguments, "--json").report


def kept_id() -> str:
    return str(open_curated(SET).read("train")["prompt_id"][0])


def test_kept_prompts_are_listed_and_rejected_ones_by_reason(shell: ScriptedShell) -> None:
    kept = listed(shell, SET)
    assert kept["total"] == len(kept["prompts"]) == 6
    assert {prompt["decision"] for prompt in kept["prompts"]} == {"keep"}
    rejected = listed(shell, SET, "--rejects")["prompts"]
    assert {(prompt["prompt"], prompt["decision"]) for prompt in rejected} == {
        ("always", "too_easy"),
        ("never", "too_hard"),
    }
    assert [prompt["prompt"] for prompt in listed(shell, SET, "--reason", "too_hard")["prompts"]] == ["never"]
    [unsolved] = listed(shell, SET, "--reason", rejected[-1]["triage"])["prompts"]
    assert unsolved["prompt"] == "never"


def test_a_list_says_how_many_more_there_are(shell: ScriptedShell) -> None:
    out = shell.type("show", SET, "--limit", "2").out
    assert "4 more: --limit 0 lists all 6" in out
    assert out.count("sometimes") == 2 * 2  # its form and its words
    assert "more" not in shell.type("show", SET, "--limit", "0").out
    assert "there are    1 too_easy, 1 too_hard" in shell.type("show", SET, "--reason", "contaminated").out


def test_one_prompt_is_one(shell: ScriptedShell) -> None:
    assert shell.type("show", SET, "--reason", "too_hard").out.startswith("1 prompt of q v0001")


def test_a_set_is_found_by_its_name_and_its_version(shell: ScriptedShell) -> None:
    for named in ("q", "q/v0001", SET, f"{SET}/v0001"):
        assert listed(shell, named, "--store", "store")["curated"].endswith("q/v0001")
    shell.folder.joinpath("-a b ü").symlink_to(SET)
    assert shell.type("show", "--limit", "1", "--", "-a b ü").status == 0


def test_a_prompt_is_shown_with_every_completion_and_its_score(shell: ScriptedShell) -> None:
    prompt_id = kept_id()
    shown = listed(shell, SET, prompt_id[:12])
    [row] = open_curated(SET).read("train").slice(0, 1).to_pylist()
    assert shown["row"]["prompt_id"] == prompt_id
    assert shown["total"] == len(shown["completions"]) == row["rollouts"] == 8
    rewards = [one["reward"] for one in shown["completions"]]
    assert rewards == sorted(rewards, reverse=True)
    assert sum(rewards) / 8 == row["mean"]
    assert {one["rollout_index"] for one in shown["completions"]} == set(range(8))
    for one in shown["completions"]:
        assert one["completion"] in SCRIPT["sometimes 0"]
        assert one["reward"] == float(one["completion"] == "yes")
        assert one["components"]["correct"] == one["reward"]
    by_index = listed(shell, SET, prompt_id, "--sort", "index", "--completions", "3")["completions"]
    assert [one["rollout_index"] for one in by_index] == [0, 1, 2]
    best_and_worst = listed(shell, SET, prompt_id, "--completions", "2")["completions"]
    assert [one["reward"] for one in best_and_worst] == [1.0, 0.0]


def test_what_people_see_holds_the_certificate_in_words(shell: ScriptedShell) -> None:
    out = shell.type("show", SET, kept_id()).out
    [row] = open_curated(SET).read("train").slice(0, 1).to_pylist()
    assert row["prompt"] in out
    assert "8 completions count" in out
    assert f"{row['p_keep']:.1%} likely to belong in the set" in out
    assert out.count("ended after") == 8
    assert "\x1b" not in out  # a completion's escape sequence is shown, and not sent to the terminal
    assert "\\x1b[31mno" in out
    assert "--completions" not in out
    assert "6 more not shown" in shell.type("show", SET, kept_id(), "--completions", "2").out


def test_only_the_manifests_policy_sampling_and_version_are_shown(shell: ScriptedShell) -> None:
    assert shell.find(*FIND[:-2], "--name", "other", "--temperature", "0.5").status == 0
    policy, prompt_id = shell.folder / "policy/model.safetensors", kept_id()
    before = listed(shell, SET, prompt_id)
    policy.write_bytes(b"other weights")
    assert shell.find(*FIND[:-2], "--name", "third").status == 0
    assert listed(shell, SET, prompt_id) == before
    assert before["total"] == 8


def test_a_later_run_that_drew_more_is_named(shell: ScriptedShell) -> None:
    prompt_id = kept_id()
    grown = [value if value != "8" else "12" for value in FIND]
    assert shell.find(*grown).status == 0
    shown = listed(shell, f"{SET}/v0001", prompt_id)
    assert shown["total"] == 12
    assert "the certificate rests on the first 8" in shown["note"]


def test_copied_shards_say_that_the_completions_are_not_here(shell: ScriptedShell) -> None:
    prompt_id = kept_id()
    shutil.copytree(f"{SET}/v0001", "copied")
    alone = shell.type("show", "copied", prompt_id)
    assert alone.status == 0
    assert "likely to belong in the set" in alone.out
    assert "completions are not here: give --store" in alone.out
    assert listed(shell, "copied", prompt_id)["completions"] is None
    assert listed(shell, "copied", prompt_id, "--store", "store")["total"] == 8


def test_a_prompt_that_was_never_sampled_says_what_it_repeats(shell: ScriptedShell) -> None:
    rows = [{"prompt": text, "answer": "yes"} for text in [*SCRIPT, "sometimes 0!"]]
    shell.script["sometimes 0!"] = ["yes"]
    shell.write_rows(rows, "q.jsonl")
    assert shell.find(*FIND, "--near-duplicates", "0.5").status == 0
    [dropped] = listed(shell, SET, "--reason", "duplicate")["prompts"][:1]
    shown = listed(shell, SET, dropped["prompt_id"])
    assert shown["completions"] is None
    assert "never sampled" in shown["note"]
    assert shown["row"]["collides_with"] in shown["note"]


def test_chats_are_shown_turn_by_turn(shell: ScriptedShell) -> None:
    chats = [
        {"prompt": [{"role": "system", "content": "Be terse."}, {"role": "user", "content": text}], "answer": "yes"}
        for text in SCRIPT
    ]
    shell.write_rows(chats, "q.jsonl")
    assert shell.find(*FIND[:-1], "chats").status == 0
    first = listed(shell, "chats", "--store", "store")["prompts"][0]
    lines = [
        line.rstrip() for line in shell.type("show", "chats", first["prompt_id"], "--store", "store").out.splitlines()
    ]
    assert lines[2:6] == ["system:", "    Be terse.", "user:", f"    {first['prompt'][-1]['content']}"]
    assert "user: sometimes" in shell.type("show", "chats", "--store", "store").out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([SET, "zzzz"], "no prompt here has an id that starts with 'zzzz'"),
        ([SET, ""], "is not one alone"),
        ([SET, "--reason", "near_mis"], "unknown reason 'near_mis': did you mean 'near_miss'"),
        ([SET, "--part", "rejcts"], "unknown part 'rejcts': did you mean 'rejects'"),
        ([SET, "--part", "reserve"], "has no part reserve"),
        ([SET, "--sort", "rewards"], "unknown --sort 'rewards': did you mean 'reward'"),
        ([SET, "--limit", "-1"], "--limit -1"),
        ([SET, "--completions", "-1"], "--completions -1"),
        (["qq", "--store", "store"], "did you mean 'q' in 'store'"),
        (["store"], "is a store: name one of its curated sets, such as store/curated/q"),
        (["nowhere"], "'nowhere' does not exist"),
        ([SET, "0", "--store", "nowhere"], "store 'nowhere' does not exist"),
    ],
)
def test_what_is_not_there_is_one_message(shell: ScriptedShell, arguments: list[str], message: str) -> None:
    if arguments[1:2] == ["0"]:
        arguments[1] = kept_id()
    typed = shell.type("show", *arguments)
    assert typed.status == 2
    assert typed.out == ""
    assert typed.err.startswith("error: ")
    assert message in typed.err


def test_a_near_id_is_offered(shell: ScriptedShell) -> None:
    prompt_id = kept_id()
    wrong = prompt_id[:7] + ("0" if prompt_id[7] != "0" else "1")
    assert f"did you mean {prompt_id}" in shell.type("show", SET, wrong).err


def test_a_set_of_an_older_version_is_listed(shell: ScriptedShell) -> None:
    shard = next(Path(SET).glob("v0001/train-*.parquet"))
    pl.read_parquet(shard).drop("p_keep", "std").write_parquet(shard)
    manifest = json.loads(Path(SET, "v0001/manifest.json").read_text())
    manifest["parts"]["train"]["sha256"][shard.name] = hash_file(shard)
    Path(SET, "v0001/manifest.json").write_text(json.dumps(manifest))
    assert listed(shell, SET, "--part", "train")["prompts"][0]["std"] is None
    assert shell.type("show", SET, kept_id()).status == 0


def test_columns_of_the_prompts_source_are_shown(shell: ScriptedShell) -> None:
    shell.write_rows([{"prompt": text, "answer": "yes", "level": 7, "mean": "a"} for text in SCRIPT], "q.jsonl")
    assert shell.find(*FIND).paid == 0
    assert "columns      answer='yes', level=7, source_mean='a'" in shell.type("show", SET, kept_id()).out


def test_a_manifest_without_what_is_needed_is_one_message(shell: ScriptedShell) -> None:
    Path(SET, "v0001/manifest.json").write_text('{"format": 1, "parts": {}}')
    typed = shell.type("show", SET)
    assert (typed.status, "has no policy, sampling, verifiers" in typed.err) == (2, True)


def test_a_moved_certificate_says_where_its_completions_are(shell: ScriptedShell) -> None:
    shell.script.update({f"sometimes {number}": ["yes", "no"] for number in range(40)})
    shell.write_rows([{"prompt": text, "answer": "yes"} for text in shell.script], "q.jsonl")
    assert shell.find(*FIND).status == 0
    (shell.folder / "policy/model.safetensors").write_bytes(b"other weights")
    again = ("--policy", "policy", "--no-prefect", "--workers", "0", "--anchors", "4")
    assert shell.type("refresh", "--curated", SET, *again).status == 0
    refreshed = open_curated(SET)
    moved = [row["prompt_id"] for row in refreshed.read("train").to_pylist() if row["certified_by"] == "moved"]
    old, new = listed(shell, f"{SET}/v0002", moved[0]), listed(shell, SET, moved[0])
    assert (old["total"], new["completions"]) == (8, None)
    assert "see v0002 of this set" in new["note"]


def test_a_reader_that_goes_away_is_no_error(shell: ScriptedShell, run_unread: Callable[..., tuple[int, str]]) -> None:
    for options in (["--limit", "0"], [kept_id()], [kept_id(), "--json"]):
        assert run_unread("show", SET, *options) == (0, "")


@pytest.mark.parametrize("width", [60, 80])
def test_a_terminal_wraps_and_cuts_nothing(shell: ScriptedShell, on_a_terminal: OnATerminal, width: int) -> None:
    lines = on_a_terminal(width, "show", SET, kept_id())
    assert all(len(line) <= width for line in lines)
    whole = " ".join(" ".join(lines).split())
    completions = [one["completion"] for one in listed(shell, SET, kept_id())["completions"]]
    assert whole.count(" ".join(LONG.split())) == sum(LONG in text for text in completions) > 0
    assert all(len(line) <= width for line in on_a_terminal(width, "show", SET, "--rejects"))
