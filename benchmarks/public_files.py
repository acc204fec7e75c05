"""What becomes of files that nobody here wrote: are rows read, and are right, wrong and hedged answers told apart?

Of each file, read as `find-learnable` reads it with the same flags, a line of a table: rows, those that are refused,
the verifier, and the shares that pass of

- `gold`: the row's own answer, as models state answers;
- `wrong`: the answer of another row with the same verifier, which is another text, stated likewise;
- `hedged`: the right answer and a wrong one in one breath.

    python -m benchmarks.public_files FILE [FILE ...] [--rows 200] [--seed 3] [--flags "--prompt-column question"]
"""

from __future__ import annotations

import random
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import typer

from benchmarks.figures import make_parser
from learnable.cli.commands.find_arguments import PromptArguments
from learnable.cli.flags import with_flags
from learnable.data.errors import LearnableError
from learnable.data.records import Prompt
from learnable.flows.curation.steps import read_prompts
from learnable.flows.settings import CurateSettings, PromptSettings
from learnable.verifiers.pool.scoring import ScoreJob, ScoringPool

STATED = {
    "choice": ("The answer is {}.", "({})", r"\boxed{{{}}}", "So it must be **{}**."),
    "mathematics": (r"\boxed{{{}}}", "The final answer is ${}$.", "Hence\n\n**Answer**: ${}$"),
    "number": ("The answer is {}.", "#### {}", r"\boxed{{{}}}", "So that makes **{}**."),
    "text": ("{}",),
}
HEDGED = {
    "choice": ("The answer is {} or {}.", r"\boxed{{{}, {}}}"),
    "mathematics": (r"\boxed{{{} \text{{ or }} {}}}", "The final answer is ${}$ or ${}$."),
    "number": ("The answer is {} or {}.", "#### {}; {}", r"\boxed{{{} \text{{ or }} {}}}"),
}
AS_IT_IS = ("The final answer is {}",)  # what has mathematics among words
KINDS = ("gold", "wrong", "hedged")


@dataclass(frozen=True, slots=True)
class Judged:
    """A file: its rows that are prompts, those that are refused, its verifiers, and passes of each kind in all."""

    rows: int
    refused: int
    verifiers: Counter[str]
    passes: Counter[str]
    stated: Counter[str]

    def share(self, kind: str) -> str:
        """Return the share of a kind that passed."""
        return f"{self.passes[kind] / self.stated[kind]:.3f}" if self.stated[kind] else "-"


def main() -> None:
    """Measure and print a table."""
    parser = make_parser(__doc__)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--rows", type=int, default=200, help="of each file, drawn by the seed")
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--flags", default="", help="of find-learnable, for every file")
    arguments = parser.parse_args()
    print("| file | flags | rows | refused | verifier | gold passes | wrong passes | hedged passes |")
    print(f"|{' --- |' * 8}")
    with ScoringPool(2) as pool:
        for file in arguments.files:
            name = file.rpartition("/")[2]
            try:
                found = judge_file(pool, file, arguments.flags, arguments.rows, arguments.seed)
            except LearnableError as error:
                print(f"| {name} | {arguments.flags} | not read: {str(error).splitlines()[0]} | | | | | |", flush=True)
                continue
            verifiers = ", ".join(f"{verifier} {count}" for verifier, count in found.verifiers.most_common())
            shares = " | ".join(map(found.share, KINDS))
            print(
                f"| {name} | {arguments.flags} | {found.rows} | {found.refused} | {verifiers} | {shares} |", flush=True
            )


def judge_file(pool: ScoringPool, file: str, flags: str, rows: int, seed: int) -> Judged:
    """Read a file and judge the three kinds of answers to some of its rows. Raises `LearnableError` as reading does."""
    wanted = read_flags(["--prompts", file, "--skip-bad-rows", "--near-duplicates", "1", *shlex.split(flags)])
    read = read_prompts(CurateSettings(prompts=wanted, test_share=0.0))
    answered = [prompt for prompt in read.prompts if "answer" in prompt.spec and prompt.verifier in STATED]
    rng = random.Random(seed)
    drawn = rng.sample(answered, min(rows, len(answered)))
    stated = [(kind, job) for prompt in drawn for kind, job in make_jobs(prompt, answered, rng)]
    scores = pool.submit([job for _, job in stated]).result()
    passed = Counter(kind for (kind, _), score in zip(stated, scores, strict=True) if score.passed)
    return Judged(
        rows=len(read.prompts),
        refused=read.bad_rows,
        verifiers=Counter(prompt.verifier for prompt in read.prompts),
        passes=passed,
        stated=Counter(kind for kind, _ in stated),
    )


def read_flags(flags: Sequence[str]) -> PromptSettings:
    """Return the settings that flags of find-learnable make."""
    made: list[PromptSettings] = []
    app = typer.Typer()

    @app.command()
    @with_flags()
    def read(*, prompts: PromptArguments) -> None:
        made.append(prompts.settings())

    app(list(flags), standalone_mode=False)
    return made[0]


def make_jobs(prompt: Prompt, others: Sequence[Prompt], rng: random.Random) -> Iterator[tuple[str, ScoreJob]]:
    """Yield what is judged of one row, with its kind."""
    right = plain(prompt)
    alike = [other for other in others if other.verifier == prompt.verifier]
    answers = prompt.spec.get("choices") or [plain(other) for other in rng.sample(alike, min(20, len(alike)))]
    wrong = [answer for answer in map(str, answers) if bare(answer) != bare(right) and "$" not in answer]
    for form in STATED[prompt.verifier] if "$" not in right else AS_IT_IS:
        yield "gold", make_job(prompt, form.format(right))
        if wrong:
            yield "wrong", make_job(prompt, form.format(rng.choice(wrong)))
    for form in HEDGED.get(prompt.verifier, ()) if wrong and "$" not in right else ():
        pair = [right, rng.choice(wrong)]
        rng.shuffle(pair)
        yield "hedged", make_job(prompt, form.format(*pair))


def plain(prompt: Prompt) -> str:
    """Return a row's answer without the dollar signs around mathematics."""
    text = str(prompt.spec["answer"]).strip()
    is_one = text.count("$") == 2 and text.startswith("$") and text.endswith("$")
    return text.strip("$") if prompt.verifier == "mathematics" and is_one else text


def bare(answer: str) -> str:
    """Return an answer without what tells no two apart: case, spaces, dollar signs and a point of no decimals."""
    return "".join(answer.casefold().split()).strip("$").removesuffix(".0")


def make_job(prompt: Prompt, completion: str) -> ScoreJob:
    """Return the job of judging a completion."""
    return ScoreJob(prompt.verifier, completion, prompt.text, prompt.spec_json)


if __name__ == "__main__":
    main()
