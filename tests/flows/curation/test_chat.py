"""Chat prompts from a file to a refreshed set: every table holds messages, and nothing is lost on the way."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from learnable.data.curated.curated_set import open_curated
from learnable.data.dialogue.chats import as_chat
from learnable.data.dialogue.thinking import find_tags
from learnable.data.records import Prompt, Sampling
from learnable.rollouts.protocol import Answer, GroupRequest, with_thought
from tests.flows import scripted_shell_for_tests
from tests.flows.scripted_shell_for_tests import CountingEngine, ScriptedShell

SCRIPT = {f"Work out {i} + 4 = ": [str(i + 4), str(i)] for i in range(12)}
SUMS = ("--prompts", "chats.jsonl", "--verifier", "arithmetic", "--group-size", "8", "--name", "chats")


@pytest.fixture
def shell(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> ScriptedShell:
    monkeypatch.chdir(tmp_path)
    shell = ScriptedShell(tmp_path, capfd, dict(SCRIPT))
    rows = [
        {"prompt": [{"role": "system", "content": "Be terse."}, {"role": "user", "content": text}], "answer": index + 4}
        for index, text in enumerate(SCRIPT)
    ]
    shell.write_rows([*rows, rows[0]], "chats.jsonl")
    return shell


@pytest.mark.parametrize("sampling", ["fixed", "optimal"])
def test_chats_are_found_published_and_read_by_datasets(shell: ScriptedShell, sampling: str) -> None:
    from datasets import load_dataset

    report = shell.find(*SUMS, "--sampling", sampling).report
    assert report["totals"]["kept"] >= 8
    curated = open_curated(report["curated"])
    for part in ("train", "test", "rejects", "control", "demonstrations"):
        assert curated.read(part).schema.field("prompt").type.value_type.names == ["role", "content"], part
    rows = load_dataset("parquet", data_files=f"{report['curated']}/train-*.parquet", split="train")
    assert [turn["role"] for turn in rows[0]["prompt"]] == ["system", "user"]
    shown = curated.read("demonstrations").to_pylist()
    assert all(row["completion"][0]["role"] == "assistant" for row in shown)


def test_a_set_of_chats_is_refreshed(shell: ScriptedShell) -> None:
    curated = shell.find(*SUMS).report["curated"]
    (shell.folder / "policy/model.safetensors").write_bytes(b"trained weights")
    shell.script.update({text: answers[:1] for text, answers in list(SCRIPT.items())[:6]})  # these it can do now
    typed = shell.type(
        "refresh", "--curated", curated, "--policy", "policy", "--no-prefect", "--workers", "0", "--json"
    )
    report: dict[str, Any] = typed.report
    assert report["changed"]["keep_to_drop"] >= 4
    refreshed = open_curated(report["curated"])
    assert (
        refreshed.read("train").schema.field("prompt").type
        == open_curated(curated).read("train").schema.field("prompt").type
    )


TURNS = "{% for m in messages %}<|{{ m['role'] }}|>{{ m['content'] }}{% endfor %}"
TEXTS = ("--prompts", "texts.jsonl", "--verifier", "arithmetic", "--group-size", "8", "--name", "texts")


@pytest.fixture
def texts(shell: ScriptedShell) -> ScriptedShell:
    """A policy whose template marks turns, and prompts that are text."""
    (shell.folder / "policy/chat_template.jinja").write_text(TURNS)
    shell.write_rows([{"prompt": text, "answer": index + 4} for index, text in enumerate(SCRIPT)], "texts.jsonl")
    return shell


def test_a_policy_with_a_chat_template_gets_turns(texts: ScriptedShell) -> None:
    typed = texts.find(*TEXTS, "--system-prompt", "Be terse.")
    assert typed.err.count("--chat off sends them as they are") == 1
    curated = open_curated(typed.report["curated"])
    rows = [row for part in ("train", "test", "rejects") for row in curated.read(part).to_pylist()]
    assert {tuple(turn["role"] for turn in row["prompt"]) for row in rows} == {("system", "user")}
    wanted = [Prompt(text, "arithmetic", {"answer": i + 4}, family="f", form="F") for i, text in enumerate(SCRIPT)]
    assert {row["problem_id"] for row in rows} == {prompt.problem_id for prompt in wanted}
    assert {row["prompt_id"] for row in rows} == {as_chat(prompt, "Be terse.").prompt_id for prompt in wanted}
    assert curated.manifest.chat is not None
    assert curated.manifest.chat.system_prompt == "Be terse."
    assert typed.report["rendered_prompt"].startswith("system: Be terse.\nuser: Work out ")


def test_the_same_words_in_turns_and_as_text_are_other_questions_and_one_problem(texts: ScriptedShell) -> None:
    turns = texts.find(*TEXTS)
    plain = texts.find(*TEXTS, "--chat", "off")
    again = texts.find(*TEXTS, "--chat", "on")
    assert (turns.paid, plain.paid, again.paid) == (96, 96, 0)
    assert open_curated(plain.report["curated"]).manifest.chat is None
    held_out = [
        {row["problem_id"] for row in open_curated(typed.report["curated"]).read("test").to_pylist()}
        for typed in (turns, plain)
    ]
    assert held_out[0] == held_out[1]


def test_what_the_template_is_told_and_what_ends_a_completion_are_other_samplings(texts: ScriptedShell) -> None:
    first = texts.find(*TEXTS)
    told = texts.find(*TEXTS, "--template-arg", "enable_thinking=false")
    stopped = texts.find(*TEXTS, "--stop", "END", "--stop", "\n", "--min-p", "0.1", "--repetition-penalty", "1.1")
    assert (first.paid, told.paid, stopped.paid) == (96, 96, 96)
    assert texts.find(*TEXTS, "--template-arg", "enable_thinking=false").paid == 0
    sampling = open_curated(told.report["curated"]).manifest.sampling
    assert sampling.template_args == {"enable_thinking": False}
    assert open_curated(stopped.report["curated"]).manifest.sampling.stop == ("END", "\n")
    shown = texts.type("show", stopped.report["curated"], "--json")
    assert shown.status == 0, shown.err


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--chat", "off", "--system-prompt", "x"), "leave out --chat off"),
        (("--chat", "maybe"), "choose one of auto, on, off"),
        (("--system-prompt", "@nowhere"), "the file cannot be read"),
        (("--stop", ""), "would end every completion at once"),
        (("--min-p", "1"), "--min-p 1 is out of range"),
        (("--top-k", "-1"), "--top-k -1 is out of range: give 0 or more"),
        (("--repetition-penalty", "0"), "--repetition-penalty 0 is out of range"),
        (("--chat", "off", "--template-arg", "x=1"), "--template-arg is for chats"),
        (("--template-arg", "add_generation_prompt=false"), "is not the template's own"),
    ],
)
def test_what_cannot_work_is_refused(texts: ScriptedShell, flags: tuple[str, ...], said: str) -> None:
    typed = texts.find(*TEXTS, *flags)
    assert typed.status == 2
    assert said in typed.err


def test_words_for_a_policy_without_turns_are_refused(texts: ScriptedShell) -> None:
    (texts.folder / "policy/chat_template.jinja").unlink()
    typed = texts.find(*TEXTS, "--system-prompt", "Be terse.")
    assert typed.status == 2
    assert "has no chat template that marks turns: give --chat on" in typed.err
    (texts.folder / "words").write_text("Be terse.\n")
    rows = open_curated(texts.find(*TEXTS, "--chat", "on", "--system-prompt", "@words").report["curated"])
    assert rows.read("rejects").num_rows + rows.read("train").num_rows + rows.read("test").num_rows == 12
    assert rows.manifest.chat is not None
    assert rows.manifest.chat.system_prompt == "Be terse."


class ThinkingEngine(CountingEngine):
    """Thinks before it answers, as its policy's template says; every other thought has no end."""

    def generate(self, requests: Iterable[GroupRequest], sampling: Sampling) -> Iterator[Answer]:
        tags = find_tags(sampling.think_tags, "<think>")
        for answer in super().generate(requests, sampling):
            if isinstance(answer, list):
                ends = ["</think>" if rollout.rollout_index % 2 else "" for rollout in answer]
                wrote = [
                    replace(rollout, completion=f"<think>so 99{end}{rollout.completion}", num_tokens=9)
                    for rollout, end in zip(answer, ends, strict=True)
                ]
                yield [with_thought(rollout, tags, len, is_open=False) for rollout in wrote]


def test_verifiers_see_the_answer_and_a_thought_without_one_is_truncated(
    texts: ScriptedShell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scripted_shell_for_tests, "CountingEngine", ThinkingEngine)
    texts.script.update({text: answers[:1] for text, answers in SCRIPT.items()})
    found = texts.find(*TEXTS, "--band", "0", "1", "--min-std", "0", "--test-share", "0")
    totals = found.report["totals"]
    assert totals["truncated"] == 48
    assert totals["reasoning_tokens"] == 96 * 9
    again = texts.find(*TEXTS, "--band", "0", "1", "--min-std", "0", "--test-share", "0")
    assert (again.paid, again.report["totals"]["reasoning_tokens"]) == (0, 96 * 9)
    curated = open_curated(found.report["curated"])
    assert set(curated.read("train")["pass_rate"].to_pylist()) == {0.5}
    shown = curated.read("demonstrations").to_pylist()
    assert all(row["completion"][0]["content"].startswith("<think>so 99</think>") for row in shown)
    [row] = curated.read("train").slice(0, 1).to_pylist()
    one = texts.type("show", found.report["curated"], row["prompt_id"], "--json").report["completions"][0]
    assert (one["reasoning"], one["completion"]) == ("<think>so 99</think>", str(json.loads(row["spec"])["answer"]))


def test_a_policy_whose_thoughts_are_not_told_apart_is_another_sampling(
    texts: ScriptedShell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scripted_shell_for_tests, "CountingEngine", ThinkingEngine)
    assert texts.find(*TEXTS).paid == 96
    assert texts.find(*TEXTS, "--think-tags", "auto").paid == 0
    whole = texts.find(*TEXTS, "--think-tags", "none")
    assert whole.paid == 96
    assert "reasoning_tokens" not in whole.report["totals"]
    assert "are not two words" in texts.find(*TEXTS, "--think-tags", "<think>").err


def test_built_in_prompts_ask_in_natural_words_where_they_are_chats(texts: ScriptedShell) -> None:
    from learnable.flows.curation.steps import read_prompts
    from learnable.flows.settings import ChatSettings, CurateSettings, PromptSettings

    def read(mode: str, wording: str = "") -> list[Prompt]:
        prompts = PromptSettings(families=("arithmetic",), limit=40, wording=wording)
        return read_prompts(CurateSettings(prompts, ChatSettings(mode), policy="policy")).prompts

    plain, natural = read("off"), read("auto")
    assert len(natural) == 40
    assert not {prompt.text for prompt in natural} & {prompt.text for prompt in plain}
    assert {prompt.text for prompt in read("on", "plain")} == {prompt.text for prompt in plain}
    assert {prompt.text for prompt in read("off", "natural")} == {prompt.text for prompt in natural}
    refused = texts.find(*TEXTS, "--wording", "natural")
    assert refused.status == 2
    assert "leave out --wording" in refused.err


def test_a_model_that_only_a_server_knows_gets_texts_unless_told(monkeypatch: pytest.MonkeyPatch) -> None:
    from learnable.data.policies import Policy
    from learnable.flows.curation import chat
    from learnable.flows.settings import ChatSettings, CurateSettings, ServerSettings

    def refuse(name: str) -> None:
        raise AssertionError(name)

    server = ServerSettings(("http://h/v1",))
    monkeypatch.setattr(chat, "policy_for", lambda settings: Policy("m", "m@served-0123"))
    monkeypatch.setattr(chat, "read_chat_template", refuse)
    decided = chat.decide_chat(CurateSettings(engine=server))
    assert not decided.is_on
    assert decided.why == chat.TEMPLATE_UNSEEN
    assert chat.decide_chat(CurateSettings(engine=server, chat=ChatSettings("on"))).is_on
    wanted = as_chat(Prompt("2 + 2 = ", "arithmetic", {"answer": 4}, family="f", form="F"), "Be brief.")
    shown = chat.render_first(CurateSettings(engine=server), Policy("m", "m@served-0123"), [wanted])
    assert shown == "system: Be brief.\nuser: 2 + 2 = "


def test_one_prompt_is_shown_as_the_policy_sees_it_before_anything_is_paid_and_after(texts: ScriptedShell) -> None:
    planned = texts.find(*TEXTS, "--dry-run")
    assert planned.paid == 0
    assert planned.report["rendered_prompt"].startswith("user: Work out ")
    usual = ("find", "--policy", "policy", "--no-prefect", "--workers", "0", "--sampling", "fixed", *TEXTS)
    for more in (["--dry-run"], [], ["--chat", "off"]):
        said = texts.type(*usual, *more).out
        assert "One prompt, as the policy sees it:" in said
        assert ("user: Work out " in said) == (more != ["--chat", "off"])
