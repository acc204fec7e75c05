"""The prompts of imported rollouts: as their file scored them, and as a judge that was named would."""

from __future__ import annotations

from collections.abc import Mapping

from learnable.data.errors import LearnableError
from learnable.data.records import RECORDED, Prompt, Row, message_list
from learnable.data.sources.files.bad_rows import BadRowError, BadRows
from learnable.data.sources.files.columns import Columns, json_ready
from learnable.data.sources.files.rows import prompts_from_rows
from learnable.data.sources.rollouts.files import ImportedQuestion
from learnable.data.sources.selection import PromptSet, select_prompts
from learnable.flows.curation.steps import columns_of, hold_out, screen
from learnable.flows.settings import CurateSettings
from learnable.verifiers.own.scale import RewardScale
from learnable.verifiers.registry import find_verifier


def name_recorded(format_name: str, scale: RewardScale) -> str:
    """Return the name under which a format's rewards are kept: rewards of another range are other rewards.

    >>> name_recorded("trl", RewardScale()), name_recorded("trl", RewardScale(-1, 1, 0.5))
    ('recorded-trl', 'recorded-trl-range-1..1-pass0.5')
    """
    return f"{RECORDED}{format_name}{scale.label}"


def recorded_prompt(verifier: str, question: ImportedQuestion, family: str) -> Prompt:
    """Return a question as a prompt that nobody here can judge: its rewards came with it."""
    return Prompt(
        prompt=question.prompt,
        verifier=verifier,
        spec={},
        family=family,
        form=question.form or family,
        source=question.place,
        columns={str(name): json_ready(value) for name, value in question.row.items()},
    )


def judged_prompts(
    questions: Mapping[str, ImportedQuestion], settings: CurateSettings, family: str, bad_rows: BadRows
) -> dict[str, Prompt]:
    """Return the questions as prompts of the judge that `settings` name, by their ids. Bad rows are told.

    What the judge needs is read from the other columns of the rows, as find-learnable reads a file of prompts.
    """
    columns, found = columns_of(settings.prompts), {}
    for name, one in questions.items():
        prompt = _read_judged(one, columns, family, bad_rows)
        if prompt is not None:
            bad_rows.good += 1
            found[name] = prompt
    bad_rows.check()
    return found


def _read_judged(question: ImportedQuestion, columns: Columns, family: str, bad_rows: BadRows) -> Prompt | None:
    row: Row = {**question.row, columns.prompt: message_list(question.prompt), "verifier": columns.verifier}
    row = {"form": question.form or family, **row} if "answer" in row or "spec" in row or columns.answer else row
    try:
        [prompt] = prompts_from_rows([(question.place, row)], columns, family)
        find_verifier(prompt.verifier).check_spec(prompt.spec)
    except LearnableError as error:
        bad_rows.add(error if isinstance(error, BadRowError) else BadRowError(question.place, str(error)))
        return None
    return prompt


def pool_of(prompts: list[Prompt], settings: CurateSettings) -> PromptSet:
    """Return prompts as the pool of a curation: distinct, screened and split. Raises `LearnableError` for none."""
    chosen = select_prompts(prompts, None, settings.seed)
    wanted = settings.prompts
    return hold_out(chosen.without(screen(chosen.prompts, wanted.decontaminate, wanted.near_duplicates)), settings)
