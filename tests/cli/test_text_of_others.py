"""Names, messages and answers of others on the command line: whatever they hold, the terminal gets escapes of it."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from learnable.cli.app import app, find_command
from learnable.data.plain_text import escape_controls
from tests.cli.files_for_tests import OnATerminal
from tests.flows.scripted_shell_for_tests import ScriptedShell
from tests.rollouts.server.scripted_server_for_tests import Reply, ScriptedServer

BAD = "\x1b[31m\x1b]0;owned\x07\r\x00\x9b\u200f\u202e\u2066"
BAD_NAME = BAD.replace("\x00", "").replace("\x1b]", "")  # as a file's
SHOWN = r"\x1b[31m"
RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
QUESTIONS = ("--prompts", "q.jsonl", "--group-size", "4", "--store", "store", "--name", "q")
FIND = (*QUESTIONS, "--verifier", "choice")
PLAIN = ("find", "--policy", "policy", "--no-prefect", "--workers", "0", "--sampling", "fixed")


@pytest.fixture
def shell(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> ScriptedShell:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    shell = ScriptedShell(tmp_path, capfd, {f"question {index}": ["yes", "no"] for index in range(6)})
    shell.write_rows([{"prompt": text, "answer": "yes", "form": f"F{BAD}"} for text in shell.script], "q.jsonl")
    return shell


@pytest.fixture
def say(capfd: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Type a command of `learnable`, and return all that it wrote, which holds no control."""

    def say(*arguments: str, status: int | None, command: Callable[[list[str]], object] = app) -> str:
        with pytest.raises(SystemExit) as ended:
            command(list(arguments))
        said = "".join(capfd.readouterr())
        assert not RAW.search(said), json.dumps(said)
        assert status in (None, int(ended.value.code or 0)), said
        return said

    return say


def test_a_form_is_shown_and_listed(shell: ScriptedShell) -> None:
    for arguments in (
        (*PLAIN, *FIND, "--show", "1"),
        (*PLAIN, *FIND),
        ("show", "store/curated/q"),
        ("ledger", "--store", "store"),
    ):
        typed = shell.type(*arguments)
        assert typed.status == 0, typed.err
        assert not RAW.search(typed.out), json.dumps(typed.out)
        if arguments[0] != "ledger" and "--show" not in arguments:
            assert SHOWN in typed.out
    [prompt_id] = {row["prompt_id"] for row in shell.type("show", "store/curated/q", "--json").report["prompts"][:1]}
    shown = shell.type("show", "store/curated/q", prompt_id).out
    assert SHOWN in shown
    assert not RAW.search(shown)
    card = next((shell.folder / "store/curated/q").glob("*/README.md")).read_text(encoding="utf-8")
    assert SHOWN in card
    assert not RAW.search(card)


def test_json_holds_a_form_as_it_is(shell: ScriptedShell) -> None:
    typed = shell.find(*FIND)
    assert [form["form"] for form in typed.report["forms"]] == [f"F{BAD}"]
    assert not RAW.search(typed.out)


def test_what_a_judge_says_is_shown(shell: ScriptedShell, say: Callable[..., str]) -> None:
    (shell.folder / "my_judge.py").write_text(f"def judge(completion):\n    raise RuntimeError({BAD!r})\n")
    typed = shell.type(*PLAIN, *QUESTIONS, "--verifier", "my_judge.py:judge")
    assert typed.status == 2
    assert SHOWN in typed.err
    assert not RAW.search(typed.err)
    (shell.folder / "in.jsonl").write_text(json.dumps({"completion": "yes"}) + "\n")
    said = say("verify", "--verifier", "my_judge.py:judge", "--input", "in.jsonl", "--output", "-", status=1)
    assert SHOWN in said


@pytest.mark.parametrize("content", [None, "{half\n", '{"prompt": 3}\n'])
def test_the_name_of_a_file_is_shown(shell: ScriptedShell, say: Callable[..., str], content: str | None) -> None:
    name = f"q{BAD_NAME}.jsonl"
    if content is not None:
        (shell.folder / name).write_text(content)
    assert SHOWN in say(*PLAIN, "--prompts", name, "--verifier", "choice", status=2)
    (shell.folder / "in.jsonl").write_text(json.dumps({"completion": "yes", "answer": "yes"}) + "\n")
    source = "in.jsonl" if content is None else name
    said = say(
        "verify", "--verifier", "choice", "--input", source, "--output", name, status=0 if content is None else 2
    )
    assert SHOWN in said


def test_a_name_that_is_no_text_is_shown(shell: ScriptedShell, say: Callable[..., str]) -> None:
    assert r"\udcff" in say(*PLAIN, "--prompts", "q\udcff.jsonl", "--verifier", "choice", status=2)


@pytest.mark.parametrize("command", [app, find_command])
def test_an_argument_too_many_is_shown(
    say: Callable[..., str], command: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ["find", BAD_NAME] if command is app else [BAD_NAME]
    monkeypatch.setattr(sys, "argv", ["learnable", *arguments])
    assert SHOWN in say(*arguments, status=2, command=lambda given: app(given) if command is app else find_command())


def test_a_policy_is_shown_and_so_is_its_card(shell: ScriptedShell, say: Callable[..., str]) -> None:
    name = f"m{BAD}`</code>[x](http://example.com)|<img src=x>"
    with ScriptedServer(models=[{"id": name}]) as server:
        said = say("find", *FIND, "--no-prefect", "--engine", "server", "--base-url", server.url, status=0)
    assert rf"policy m{SHOWN}" in said
    assert SHOWN in say("ledger", "--store", "store", status=0)
    card = next((shell.folder / "store/curated/q").glob("*/README.md")).read_text(encoding="utf-8")
    assert SHOWN in card
    assert not RAW.search(card)


@pytest.mark.parametrize("reply", [Reply(404, {"detail": BAD}), Reply(503, BAD), Reply(200, f"{BAD}half")])
def test_what_a_server_says_is_shown(shell: ScriptedShell, say: Callable[..., str], reply: Reply) -> None:
    arguments = (*FIND, "--no-prefect", "--engine", "server")
    with ScriptedServer(models_reply=reply) as server:
        said = say("find", *arguments, "--base-url", server.url, status=2)
    assert server.url in said
    with ScriptedServer(models=[{"id": f"one{BAD}"}, {"id": f"two{BAD}"}]) as server:
        assert SHOWN in say("find", *arguments, "--base-url", server.url, status=2)
    with ScriptedServer(
        models=[{"id": f"m{BAD}"}], always=lambda body: Reply(400, {"error": {"message": BAD}})
    ) as server:
        assert SHOWN in say("find", *arguments, "--base-url", server.url, status=None)


def test_an_error_that_nobody_foresaw_is_shown(
    shell: ScriptedShell, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(path: str) -> None:
        raise ValueError(BAD)

    monkeypatch.setattr("learnable.train.ablation.planning.read_text", fail)
    monkeypatch.setattr("learnable.cli.commands.ablate.read_text", fail)
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    with pytest.raises(ValueError, match="owned") as raised:
        app(["ablate", "x.toml", "--show"])
    sys.excepthook(raised.type, raised.value, raised.tb)
    said = "".join(capfd.readouterr())
    assert SHOWN in said
    assert not RAW.search(said), json.dumps(said)


def test_a_terminal_shows_them_in_their_columns(shell: ScriptedShell, on_a_terminal: OnATerminal) -> None:
    assert shell.find(*FIND).status == 0
    lines = on_a_terminal(200, "show", "store/curated/q")
    rows = [line for line in lines if SHOWN in line]
    assert len(rows) == 6
    assert len({line.index("question") for line in lines if "question" in line}) == 1


def test_letters_are_joined_as_ever() -> None:
    text = (
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645, \u0915\u094d\u200d\u0937, \U0001f469\u200d\U0001f680, \tx\n"
    )
    assert escape_controls(text) == text
