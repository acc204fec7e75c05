"""What a data set's rows tell of their prompts before the first rollout, as features of a regression.

Text and columns alike, as the curation predicts from them (`filters/prediction/`). What a curation found of a prompt is
not looked at: its certificate says that better.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, vstack

from learnable.data.records import Prompt
from learnable.data.schemas import OUR_COLUMNS
from learnable.filters.posterior.certificate import CERTIFIED_AT_ONCE
from learnable.filters.prediction.features import CHARACTER_PLACES, OWN_COLUMNS, WORD_PLACES, PromptFeatures


def describe_rows(rows: Any) -> tuple[csr_matrix, ...]:
    """Return two ways to describe a data set's prompts: without and with the words of the text, (prompts, features).

    None at all for a data set without a column `prompt`, and only the second where the prompts' figures are all alike.
    """
    if "prompt" not in rows.column_names:
        return ()
    prompts = list_prompts(rows)
    everything = np.arange(len(prompts))
    some = np.sort(np.random.default_rng(0).permutation(everything)[:CERTIFIED_AT_ONCE])
    encoder = PromptFeatures(prompts).encode(everything, some)
    parts = np.array_split(everything, len(prompts) // CERTIFIED_AT_ONCE + 1)
    table = csr_matrix(vstack([encoder.transform(part, words=True) for part in parts]))
    figures = csr_matrix(table[:, : -(WORD_PLACES + CHARACTER_PLACES)])
    return (figures, table) if figures.shape[1] else (table,)


def list_prompts(rows: Any) -> list[Prompt]:
    """Return the prompts of a data set with those of its columns that a prediction may read."""
    columns = {name: list(rows[name]) for name in rows.column_names if _may_be_read(rows, name)}
    form, difficulty = (columns.pop(name, None) for name in OWN_COLUMNS)
    return [
        Prompt(
            prompt=_read_text(prompt),
            verifier="",
            spec={},
            family="",
            form=str(form[row]) if form else "",
            difficulty=difficulty[row] if difficulty else None,
            columns={name: values[row] for name, values in columns.items()},
        )
        for row, prompt in enumerate(rows["prompt"])
    ]


def _may_be_read(rows: Any, name: str) -> bool:
    """Whether a column is a number or a text of each row that the curation has not found out."""
    is_single = getattr(rows.features[name], "dtype", "") != "" and not hasattr(rows.features[name], "decode_example")
    promised = {"certified_reward", "certified_pass_rate"}  # `train/trainers/prompts.py` adds them of certificates
    return is_single and (name in OWN_COLUMNS or name not in OUR_COLUMNS | promised)


def _read_text(prompt: str | Sequence[Mapping[str, Any]]) -> str:
    return prompt if isinstance(prompt, str) else "\n".join(str(turn["content"]) for turn in prompt)
