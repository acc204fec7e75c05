"""`learnable explain`: why a poem or an answer scores what it scores; rhyme schemes and scansions of whole files."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from learnable.cli.arguments import read_object
from learnable.cli.console import Shell, open_shell
from learnable.cli.display.terminal_text import print_text
from learnable.data.records import JsonObject

if TYPE_CHECKING:
    from learnable.verifiers.explanation import Explanation, ScorePart, Styled

EXPLAIN_HELP = """
Show why a poem, or an answer, scores what it scores.

Prints the poem with stress marks, syllable counts, rhyme letters, how well each line keeps the form's metre and how \
much it reads as a sentence of verse, the score of each component, and what would raise it. With --verifier, prints \
what was read out of a completion as its answer and by which rule. Reads a file, or standard input.

\b
Examples:
  learnable explain --form sonnet poem.txt
  learnable explain --form haiku --json < poem.txt
  learnable explain --form acrostic --spec '{"word": "OCEAN"}' poem.txt
  learnable explain --forms my_forms.toml --form lantern poem.txt
  learnable explain --verifier number --spec '{"answer": 1234, "extract": "boxed"}' completion.txt
  learnable explain --rhyme-scheme stanzas.jsonl     # {"lines": [...]} a line -> {"scheme": [...]}
  learnable explain --scansion lines.jsonl           # {"line": "...", "metre"?: "iambic"} -> syllables, stress, metre
"""
RIGHT_COLOR, PARTLY_COLOR, WRONG_COLOR = "green", "yellow", "red"

Poem = Annotated[Path | None, typer.Argument(help="A text file with the text. (default: standard input)")]
Form = Annotated[str | None, typer.Option("--form", help="The form to judge by, such as sonnet.")]
SpecText = Annotated[str, typer.Option("--spec", help="The form's parameters, or the verifier's spec: JSON or @FILE.")]
VerifierName = Annotated[
    str | None, typer.Option("--verifier", help="Explain an answer as this verifier reads it, such as number.")
]
PromptShown = Annotated[str, typer.Option("--prompt", help="The prompt, for verifiers that look at it.")]
FormsFile = Annotated[
    str | None, typer.Option("--forms", help="A TOML file of poem forms of your own (docs/reference/poem-keys.md).")
]
RhymeScheme = Annotated[Path | None, typer.Option(help="Infer the rhyme schemes of a file of stanzas, JSONL.")]
ScansionFile = Annotated[Path | None, typer.Option("--scansion", help="Scan a file of lines, JSONL.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def explain(
    poem: Poem = None,
    form: Form = None,
    spec: SpecText = "{}",
    forms_file: FormsFile = None,
    rhyme_scheme: RhymeScheme = None,
    scansion: ScansionFile = None,
    verifier: VerifierName = None,
    prompt: PromptShown = "",
    as_json: AsJson = False,
) -> None:
    """Show why a poem, or an answer, scores what it scores."""
    with open_shell(as_json=as_json, quiet=True) as shell:
        if verifier is not None:
            show_answer(shell, verifier, read_object(spec, "--spec"), prompt, read_text(poem))
            return
        from learnable.verifiers.domains import EXPLANATIONS, FILE_READERS, load_from

        files = {"--rhyme-scheme": rhyme_scheme, "--scansion": scansion}
        for option, path in files.items():
            if path is not None:
                write_rows(shell, load_from(FILE_READERS, option)(path))
        if rhyme_scheme or scansion:
            return
        family, judged_by = read_judged_by(read_spec(form, spec), forms_file)
        show_explanation(shell, load_from(EXPLANATIONS, family)(read_text(poem), judged_by))


def write_rows(shell: Shell, rows: Iterable[JsonObject]) -> None:
    """Write one JSON object a line."""
    for row in rows:
        shell.out.file.write(json.dumps(row) + "\n")


def read_text(path: Path | None) -> str:
    """Return the poem. Raises `LearnableError` for a file that cannot be read."""
    from learnable.data.errors import LearnableError

    if path is None:
        return sys.stdin.buffer.read().decode("utf-8", "replace")
    try:
        return path.read_bytes().decode("utf-8", "replace")
    except OSError as error:
        raise LearnableError(f"cannot read {str(path)!r}: {error.strerror or error}") from error


def read_spec(form: str | None, text: str) -> JsonObject:
    """Return the spec that `--form` and `--spec` make. Raises `LearnableError` for what is none."""
    from learnable.data.errors import LearnableError

    spec = read_object(text, "--spec")
    if form:
        spec["form"] = form
    if "form" not in spec:
        raise LearnableError(
            "--form is missing: name the form to judge by, such as sonnet; `learnable forms` lists them"
        )
    return spec


def show_answer(shell: Shell, verifier: str, spec: JsonObject, prompt: str, completion: str) -> None:
    """Show what a verifier reads out of a completion, by which rule, and the score.

    Raises `LearnableError` for a verifier that is not known, and for a spec that it cannot use.
    """
    from learnable.verifiers.files.explained import explain_answer

    explanation = explain_answer(verifier, completion, prompt, spec)
    if shell.as_json:
        shell.out.file.write(json.dumps(asdict(explanation), indent=2) + "\n")
        return
    for label, value in explanation.rows():
        shell.out.print(f"{label:<10} {escape(value)}", highlight=False, soft_wrap=not shell.out.is_terminal)


def read_judged_by(spec: JsonObject, forms_file: str | None) -> tuple[str, JsonObject]:
    """Return the family whose form judges, and the spec with the declaration of a form from a user's file.

    Raises `LearnableError` for a file that cannot be read, and for a form that is neither there nor built in.
    """
    from learnable.data.errors import UnknownNameError
    from learnable.data.sources.family import FORMS_LISTED_BY, fold_name
    from learnable.verifiers.families.registry import find_form_reader
    from learnable.verifiers.files.rows import add_declaration

    family = find_form_reader()
    if forms_file is None:
        return family.name, spec
    own = family.load_forms(forms_file)
    full_spec, form = add_declaration(spec, own), str(spec["form"])
    if "declaration" not in full_spec and fold_name(form) not in {fold_name(name) for name, _ in family.names()}:
        raise UnknownNameError("form", form, [*own, *family.known_forms()], FORMS_LISTED_BY)
    return family.name, full_spec


def show_explanation(shell: Shell, explanation: Explanation) -> None:
    """Show the poem as it was heard, its components, the verdict, and what would raise it."""
    if shell.as_json:
        shell.out.file.write(json.dumps(explanation.as_dict(), indent=2) + "\n")
        return
    shell.out.print(tabulate_lines(explanation, shell.out.width), "")
    shell.out.print(tabulate_parts(explanation.parts, shell.out.width))
    score = explanation.score
    verdict = f"[{RIGHT_COLOR}]passes[/]" if score.passed else f"[{WRONG_COLOR}]does not pass[/]"
    reward = "-" if score.reward is None else f"{score.reward:.3f}"
    shell.out.print(f"\nreward {reward}; {verdict} as {escape(explanation.form)}", highlight=False)
    if score.reason:
        shell.out.print(escape(score.reason), highlight=False, soft_wrap=not shell.out.is_terminal)
    if explanation.hints:
        shell.out.print("\nWhat would raise it", style="bold")
    for hint in explanation.hints:
        print_text(shell.out, f"- {hint}")


def tabulate_lines(explanation: Explanation, width: int) -> Table:
    """Return the text, each line under its marks and beside its figures, on so many columns."""
    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False, header_style="bold")
    for heading in ("", *explanation.headings):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column(escape(explanation.form))
    room = max(width - 18 - 7 * len(explanation.headings), 12)  # beside number, syllables and figures
    for number, line in enumerate(explanation.list_lines(), 1):
        figures = (f"[dim]{number}[/]", *map(_marked_up, line.figures))
        text = _folded(line.marks, line.text, room)
        table.add_row(*(f"\n{figure}" for figure in figures), text, end_section=False)
        if line.ends_block:
            table.add_row()
    return table


def _marked_up(pieces: Styled) -> str:
    return "".join(f"[{style}]{escape(text)}[/]" if style else escape(text) for text, style in pieces)


def _folded(marks: str, text: str, room: int) -> str:
    """Return a line under its marks; one that is longer than `room` goes on below, with its own part of the marks."""
    pieces, start = [], 0
    while len(text) - start > room:
        space = text.rfind(" ", start + 1, start + room + 1)
        end = space if space > 0 else start + room
        pieces.append((marks[start:end], text[start:end]))
        start = end + (space > 0)
    pieces.append((marks[start:], text[start:]))
    return "\n".join(f"[dim]{escape(over)}[/]\n{escape(under)}" for over, under in pieces)


def tabulate_parts(parts: Sequence[ScorePart], width: int) -> Table:
    """Return a table with one row per component: its value as a bar, its weight, and what a pass needs.

    `width` counts the columns of the terminal.
    """
    names = max((len(part.name) for part in parts), default=0)
    length = min(20, max(width - names - 38, 4))  # beside the columns of figures
    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False, header_style="bold", title="")
    for heading in ("component", "", "value", "weight", "for the pass"):
        table.add_column(heading, justify="left" if heading in ("component", "") else "right", no_wrap=True)
    for part in parts:
        colour = WRONG_COLOR if part.fails else RIGHT_COLOR if part.value > 1 - 1e-9 else PARTLY_COLOR
        bar = "█" * round(length * part.value)
        weight = f"{part.weight:g}" if part.weight else "factor"
        needed = "" if part.strict is None or part.needs is None else f"{part.strict:.2f} of {part.needs:.2f}"
        table.add_row(part.name, f"[{colour}]{bar:<{length}}[/]", f"{part.value:.2f}", weight, needed)
    return table
