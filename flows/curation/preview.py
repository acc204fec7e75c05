"""What the first rows of a source became, before anything is paid: prompt, judge, spec, and the right answer."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from learnable.data.curated.record import to_plain
from learnable.data.errors import LearnableError
from learnable.data.progress import Silence, watched_by
from learnable.data.records import JsonObject, Prompt, Spec, Split
from learnable.data.sources.files.layouts.recognition import Recognised
from learnable.data.sources.files.prompts import find_layout
from learnable.flows.curation.chat import render
from learnable.flows.curation.steps import columns_of, read_prompts
from learnable.flows.engines import policy_for
from learnable.flows.settings import CurateSettings, PromptSettings
from learnable.verifiers.protocol import Verifier, extract_answer, has_extractor
from learnable.verifiers.registry import find_verifier


@dataclass(frozen=True, slots=True)
class PreviewedPrompt:
    """One prompt of a preview.

    `prompt` is as the policy sees it. `answer` is the right one as the spec has it, None where the spec has none;
    `read_from` says by which rule it was read out of the row. `extract` is the rule by which an answer is read out of a
    completion, and `extracted` what that finds in a completion that is the right answer alone, None where nothing is
    read.
    """

    prompt_id: str
    source: str
    split: Split
    difficulty: float | None
    prompt: str
    verifier: str
    version: str
    spec: Spec
    answer: Any
    read_from: str
    extract: str
    extracted: str | None


@dataclass(frozen=True, slots=True)
class Preview:
    """The first prompts of a draw, and how many were drawn in all."""

    drawn: int
    prompts: tuple[PreviewedPrompt, ...]

    def to_json(self) -> JsonObject:
        """Return the preview as `--json` prints it."""
        plain: JsonObject = to_plain(asdict(self))
        return plain


def preview_prompts(settings: CurateSettings, count: int) -> Preview:
    """Draw the prompts as a run does, and return what the first `count` of them are. Nothing is sampled or written.

    Raises `LearnableError` for what a run would refuse, and for a `count` that shows nothing.
    """
    if count < 1:
        raise LearnableError(f"`show` {count} shows nothing: give 1 or more")
    prompts = read_prompts(settings).prompts
    with watched_by(Silence()):  # the drawing said it
        layout = _layout(settings.prompts)
    return Preview(len(prompts), tuple(_preview(settings, prompt, layout) for prompt in prompts[:count]))


def _preview(settings: CurateSettings, prompt: Prompt, layout: Recognised | None) -> PreviewedPrompt:
    verifier = find_verifier(prompt.verifier)
    answer = prompt.spec.get("answer")
    alone = answer[0] if isinstance(answer, list | tuple) and answer else answer
    return PreviewedPrompt(
        prompt_id=prompt.prompt_id,
        source=prompt.source,
        split=prompt.split,
        difficulty=prompt.difficulty,
        prompt=_render(settings, prompt),
        verifier=verifier.name,
        version=verifier.version,
        spec=prompt.spec,
        answer=answer,
        read_from=_read_from(settings.prompts, prompt, layout),
        extract=str(prompt.spec.get("extract", "auto")) if has_extractor(verifier) else "",
        extracted=None if alone is None else _extract(verifier, str(alone), prompt.spec),
    )


def _extract(verifier: Verifier, completion: str, spec: Spec) -> str | None:
    try:
        return extract_answer(verifier, completion, spec)
    except Exception:  # a verifier of the user's: what it cannot read is no answer
        return None


def _layout(wanted: PromptSettings) -> Recognised | None:
    if wanted.location is None or wanted.is_generated:
        return None
    return find_layout(wanted.location, columns_of(wanted), wanted.dataset_split)


def _read_from(wanted: PromptSettings, prompt: Prompt, layout: Recognised | None) -> str:
    """Return in words where the right answer comes from: the layout's rule, or the column that has it."""
    if wanted.is_generated:
        return "made with the prompt"
    if layout is not None:
        return layout.told_answer
    own = "answer" if {"answer"} <= prompt.spec.keys() & prompt.columns.keys() else "spec"
    return f"column {wanted.answer_column or own!r}"


def _render(settings: CurateSettings, prompt: Prompt) -> str:
    if isinstance(prompt.prompt, str):
        return prompt.prompt
    if not settings.engine.asks_model:
        return "\n".join(f"{turn.role}: {turn.content}" for turn in prompt.prompt)
    return render(settings, policy_for(settings), prompt)
