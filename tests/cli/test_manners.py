"""How the command line behaves: versions, help, completion, names, odd paths, pipes and Ctrl-C."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import pytest

from learnable.cli.app import app, find_app
from learnable.cli.commands.forms import write_toml
from learnable.verifiers.families.registry import DEFAULT_FAMILIES, REQUESTED_FAMILIES
from tests.cli.files_for_tests import Run
from tests.support.domains import needs_poems

LANTERN = '[Lantern]\ntitle = "lantern"\nsyllables = [1, 2, 3, 4, 1]\n'
HEAVY = "torch vllm trl transformers datasets prefect ray polars pyarrow matplotlib numpy scipy"


@pytest.mark.parametrize("command", [app, find_app], ids=["learnable", "find-learnable"])
def test_the_version_is_that_of_the_package(run: Run, command: Callable[..., object]) -> None:
    assert run("--version", command=command) == (0, f"learnable {version('learnable')}\n", "")


@pytest.mark.parametrize(
    "words", [[], ["find"], ["dial"], ["show"], ["forms"], ["ledger"], ["ledger", "check"], ["explain"]]
)
def test_h_is_help_everywhere(run: Run, words: list[str]) -> None:
    status, short, _ = run(*words, "-h")
    assert status == 0
    assert "Usage: " in short
    assert (0, short) == run(*words, "--help")[:2]


def test_help_and_version_import_nothing_heavy() -> None:
    words = ("", "find", "dial", "verify", "train", "loop", "refresh", "show", "forms", "ledger", "explain", "doctor")
    typed = [["--version"], *([*word.split(), "--help"] for word in words)]
    code = (
        "import sys\nfrom learnable.cli.app import app\n"
        f"for words in {typed}:\n    try:\n        app(words)\n    except SystemExit:\n        pass\n"
        "print('HEAVY', sorted(set(sys.modules) & set(sys.argv[1].split())))"
    )
    done = subprocess.run([sys.executable, "-c", code, HEAVY], capture_output=True, text=True, check=True)
    assert done.stdout.count("Usage: ") == len(words)
    assert done.stdout.splitlines()[-1] == "HEAVY []"


@pytest.mark.parametrize(
    ("script", "words", "offered"),
    [
        pytest.param("learnable", "learnable find --form shakes", {"shakespeareanSonnet"}, marks=needs_poems),
        ("find-learnable", "find-learnable --family ar", {"arithmetic"}),
        ("learnable", "learnable forms compar", {"comparison", "compareVersions"}),
        ("learnable", "learnable sh", {"show"}),
    ],
)
def test_the_shell_completes_names(
    run: Run, monkeypatch: pytest.MonkeyPatch, script: str, words: str, offered: set[str]
) -> None:
    for name, value in completing(script, words).items():
        monkeypatch.setenv(name, value)
    _, out, err = run(command=lambda _: (app if script == "learnable" else find_app)(prog_name=script))
    assert set(out.split()) == offered, err


def test_the_installed_script_completes_names() -> None:
    environment = {**os.environ, **completing("find-learnable", "find-learnable --family ar")}
    path = Path(sys.executable).with_name("find-learnable")
    done = subprocess.run([path], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["arithmetic"], done.stderr


def completing(script: str, words: str) -> dict[str, str]:
    """The environment in which bash asks a script to complete the last of these words."""
    name = f"_{script.replace('-', '_').upper()}_COMPLETE"
    return {name: "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}


@needs_poems
def test_a_form_is_shown_rule_by_rule(run: Run) -> None:
    from learnable.verifiers.poetry.forms import find_form, requirements

    status, out, _ = run("forms", "terza-rima")
    assert status == 0
    shown = " ".join(out.split())
    assert all(rule in shown for rule in requirements(find_form("TerzaRima")))
    assert "also terza rima" in shown
    account = json.loads(run("forms", "terza rima", "--json")[1])
    assert account["asks_for"] == requirements(find_form("TerzaRima"))
    assert account["example"]["spec"]["form"] == "TerzaRima"
    assert account["example"]["prompt"] in shown
    assert set(account["knobs"]) == {"topics", "lines", "constraints", "tolerance", "stanzas"}


@needs_poems
@pytest.mark.parametrize("name", ["TerzaRima", "Ghazal", "Sestina", "Sonnet", "Ode"])
def test_a_shown_declaration_declares_the_same_form(name: str) -> None:
    from learnable.verifiers.poetry.forms import find_form
    from learnable.verifiers.poetry.forms.loading import read_forms

    form = find_form(name)
    [again] = read_forms(write_toml(form.name, form.declaration()), "again.toml").values()
    assert again.declaration() == form.declaration()


@needs_poems
def test_a_family_and_forms_of_other_families_are_shown(run: Run) -> None:
    out = run("forms", "comparison")[1]
    assert "GreaterThan, LessThan, WideGap" in out
    assert "largest=20 (1 to 1,000,000,000), gap=50 (" in out
    assert "a form of programs" in run("forms", "fizz buzz")[1]
    assert "no reward    an ode is known by its subject" in run("forms", "ode")[1]


@pytest.mark.parametrize("name", [*DEFAULT_FAMILIES, *REQUESTED_FAMILIES])
def test_every_family_is_shown_with_its_knobs(run: Run, name: str) -> None:
    account = json.loads(run("forms", name, "--json")[1])
    assert account["family"] == name
    assert account["knobs"].keys() == {**DEFAULT_FAMILIES, **REQUESTED_FAMILIES}[name].knob_defaults().keys()
    assert [knob for knob in account["knobs"] if f" {knob}" not in f" {account['knobs_mean']}"] == []
    assert "Error" not in account["knobs_mean"]


@needs_poems
def test_ones_own_forms_are_shown_and_explained(run: Run, tmp_path: Path) -> None:
    (tmp_path / "my forms ü.toml").write_text(LANTERN, encoding="utf-8")
    (tmp_path / "-poem.txt").write_text("sea\nsilver\nmoving light\nover the sand\nstill")
    own = ("--forms", "my forms ü.toml")
    assert "Lantern" in run("forms", *own)[1]
    assert "5 lines of 1, 2, 3, 4 and 1 syllables" in run("forms", *own, "lantern")[1]
    status, out, _ = run("explain", *own, "--form", "lantern", "--json", "--", "-poem.txt")
    assert status == 0
    assert json.loads(out)["form"] == "Lantern"
    assert json.loads(out)["reward"] == 1.0
    status, _, err = run("explain", *own, "--form", "lantrn", "--", "-poem.txt")
    assert (status, "'Lantern'" in err) == (2, True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["trian"], "Did you mean 'train'"),
        (["shw"], "'show'"),
        (["forms", "additon"], "unknown form or family 'additon': did you mean 'Addition'"),
        pytest.param(["forms", "--forms", "nowhere.toml", "x"], "forms file nowhere.toml", marks=needs_poems),
        (["show"], "Missing argument 'SET'"),
        (["show", "x", "--rejcts"], "--rejects"),
        (["ledger", "chek"], "Did you mean 'check'"),
        (["ledger", "--store", "nowhere"], "store 'nowhere' does not exist"),
        pytest.param(["explain", "--form", "haiku", "no such.txt"], "cannot read 'no such.txt'", marks=needs_poems),
    ],
)
def test_what_is_mistyped_ends_with_status_2_and_a_way_out(run: Run, words: list[str], message: str) -> None:
    status, out, err = run(*words)
    assert (status, out) == (2, "")
    assert message in err
    assert "Traceback" not in err


def test_without_a_command_it_says_which_there_are(run: Run) -> None:
    out = run()[1]
    assert all(f"│ {name} " in out for name in ("find", "train", "refresh", "show", "verify", "explain", "forms"))


@needs_poems
def test_a_list_of_forms_in_a_pipe_has_no_boxes_and_a_line_a_family(run: Run) -> None:
    out = run("forms")[1]
    assert not set(out) & set("│┃━─")
    [poetry] = [line for line in out.splitlines() if line.startswith("poetry")]
    assert "ShakespeareanSonnet" in poetry
    assert "Villanelle" in poetry


@pytest.mark.parametrize("words", [["forms"], ["forms", "FizzBuzz"], ["forms", "code"]])
def test_columns_sets_the_width_of_a_pipe(run: Run, monkeypatch: pytest.MonkeyPatch, words: list[str]) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    narrow = run(*words)[1]
    assert max(map(len, narrow.splitlines())) <= 60
    for width in ("", "wide", "0"):  # no widths: lines are as long as what they say
        monkeypatch.setenv("COLUMNS", width)
        whole = run(*words)[1]
        assert max(map(len, whole.splitlines())) > 100
        assert whole.split() == narrow.split()
    if len(words) > 1:
        assert " a form of programs" in whole or words[1] == "code"


@pytest.mark.parametrize("words", [["forms"], ["forms", "--json"], ["forms", "fizzbuzz"]])
def test_a_reader_that_goes_away_is_no_error(run_unread: Callable[..., tuple[int, str]], words: list[str]) -> None:
    assert run_unread(*words) == (0, "")


def test_a_process_without_a_reader_ends_without_a_word() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    typed = [sys.executable, "-m", "learnable", "forms"]
    done = subprocess.run(typed, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")


@needs_poems
def test_ctrl_c_ends_with_status_130_and_one_word(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: Path | None) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("learnable.cli.commands.explain.read_text", interrupted)
    assert run("explain", "--form", "sonnet") == (130, "", "stopped")
