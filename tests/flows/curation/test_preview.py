"""What rows became, before anything is paid: the draw of a run, with the judge, the spec, and the answer's rule."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from learnable.data.errors import LearnableError
from learnable.flows.curation import chat
from learnable.flows.curation.preview import PreviewedPrompt, preview_prompts
from learnable.flows.curation.steps import read_prompts
from learnable.flows.settings import ChatSettings, CurateSettings, PromptSettings, SimulatedSettings

WORKED = [{"question": f"What is {n} and {n}?", "answer": f"{n} + {n}\n#### {n + n + 1000:,}"} for n in range(1, 9)]


def settings(folder: Path, rows: list[dict[str, object]], **prompts: str) -> CurateSettings:
    path = folder / "q.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    wanted = PromptSettings(location=str(path), **prompts)  # type: ignore[arg-type]
    return CurateSettings(prompts=wanted, engine=SimulatedSettings(), store=str(folder / "store"))


def first(folder: Path, rows: list[dict[str, object]], **prompts: str) -> PreviewedPrompt:
    return preview_prompts(settings(folder, rows, **prompts), 1).prompts[0]


def test_the_first_rows_of_the_draw_are_shown_and_nothing_is_written(tmp_path: Path) -> None:
    wanted = settings(tmp_path, list(WORKED))
    preview = preview_prompts(wanted, 3)
    drawn = read_prompts(wanted).prompts
    assert preview.drawn == len(drawn) == 8
    assert [shown.prompt_id for shown in preview.prompts] == [prompt.prompt_id for prompt in drawn[:3]]
    shown = preview.prompts[0]
    row = next(row for row in WORKED if row["question"] == shown.prompt)
    answer = int(row["answer"].split("#### ")[1].replace(",", ""))
    assert (shown.verifier, shown.spec, shown.answer) == ("number", {"answer": answer}, answer)
    assert shown.read_from == "the number behind the last '####' of column 'answer'"
    assert (shown.extract, shown.extracted) == ("auto", str(answer))
    assert json.loads(json.dumps(preview.to_json()))["prompts"][0]["spec"] == {"answer": answer}
    assert not (tmp_path / "store").exists()


def test_columns_say_where_an_answer_comes_from(tmp_path: Path) -> None:
    row = {"prompt": "2 + 2 = ", "label": "4", "verifier": "arithmetic"}
    assert first(tmp_path, [row], answer_column="label").read_from == "column 'label'"
    assert first(tmp_path, [{**row, "answer": "4"}]).read_from == "column 'answer'"
    assert first(tmp_path, [{**row, "spec": {"answer": 4}}]).read_from == "column 'spec'"


def test_built_in_prompts_are_shown_too(tmp_path: Path) -> None:
    wanted = PromptSettings(families=("arithmetic",), limit=5)
    preview = preview_prompts(CurateSettings(wanted, ChatSettings("off")), 9)
    assert (preview.drawn, len(preview.prompts)) == (5, 5)
    assert {shown.read_from for shown in preview.prompts} == {"made with the prompt"}


def test_a_chat_is_shown_as_the_policy_sees_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = {"prompt": [{"role": "user", "content": "2 + 2?"}], "solution": "$4$"}
    assert first(tmp_path, [row]).prompt == "user: 2 + 2?"  # nobody sees simulated prompts
    policy = tmp_path / "policy"
    policy.mkdir()
    (policy / "chat_template.jinja").write_text("{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}")
    (policy / "config.json").write_text("{}")
    (policy / "model.safetensors").write_bytes(b"weights")
    rendered = "<|user|>2 + 2?"
    monkeypatch.setattr(chat, "read_tokenizer", lambda *_: None)
    monkeypatch.setattr(chat, "render_prompt", lambda *_: rendered)
    given = settings(tmp_path, [row]).prompts
    shown = preview_prompts(CurateSettings(given, ChatSettings("on"), str(policy), store=str(tmp_path / "s")), 1)
    assert shown.prompts[0].prompt == rendered


def test_a_count_of_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LearnableError, match="`show` 0 shows nothing: give 1 or more"):
        preview_prompts(settings(tmp_path, list(WORKED)), 0)
