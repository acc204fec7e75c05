"""Arrow schemas of every table, in one place. `data.records` and `filters.statistics.groups` say what columns mean."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

TEXT_PROMPT = pa.string()
CHAT_PROMPT = pa.list_(pa.struct([("role", pa.string()), ("content", pa.string())]))


def _schema(columns: list[tuple[str, pa.DataType]]) -> pa.Schema:
    return pa.schema(columns)


ROLLOUTS = _schema(
    [
        ("rollout_id", pa.string()),
        ("question_id", pa.string()),
        ("policy_id", pa.string()),
        ("sampling_id", pa.string()),
        ("max_tokens", pa.int32()),
        ("rollout_index", pa.int32()),
        ("seed", pa.int64()),
        ("completion", pa.string()),
        ("completion_id", pa.string()),
        ("finish_reason", pa.string()),
        ("num_tokens", pa.int32()),
        ("reasoning", pa.string()),
        ("reasoning_tokens", pa.int32()),
        ("token_ids", pa.list_(pa.int32())),
    ]
)

SCORES = _schema(
    [
        ("rollout_id", pa.string()),
        ("completion_id", pa.string()),
        ("prompt_id", pa.string()),
        ("verifier", pa.string()),
        ("verifier_version", pa.string()),
        ("reward", pa.float64()),
        ("passed", pa.bool_()),
        ("components", pa.map_(pa.string(), pa.float64())),
        ("verdict", pa.string()),
        ("reason", pa.string()),
    ]
)

MARKS = _schema([("question_id", pa.string()), ("rollout_index", pa.int32()), ("needed", pa.bool_())])


@dataclass(frozen=True, slots=True)
class LedgerTable:
    """A table of the ledger: its columns, the one that the rows of a group share, and those that have no null."""

    schema: pa.Schema
    group: str
    needed: frozenset[str]


LEDGER = {
    "rollouts": LedgerTable(
        ROLLOUTS,
        "question_id",
        frozenset(
            ("rollout_id", "question_id", "max_tokens", "rollout_index", "completion", "finish_reason", "num_tokens")
        ),
    ),
    "scores": LedgerTable(
        SCORES,
        "prompt_id",
        frozenset(("rollout_id", "completion_id", "prompt_id", "verifier", "verifier_version", "verdict")),
    ),
    "ahead": LedgerTable(MARKS, "question_id", frozenset(MARKS.names)),
}


def prompts_schema(prompt_type: pa.DataType) -> pa.Schema:
    """Schema of a table of prompts; `prompt_type` is `TEXT_PROMPT` or `CHAT_PROMPT`."""
    return pa.schema(
        [
            ("prompt", prompt_type),
            ("prompt_id", pa.string()),
            ("problem_id", pa.string()),
            ("verifier", pa.string()),
            ("spec", pa.string()),
            ("family", pa.string()),
            ("form", pa.string()),
            ("difficulty", pa.float64()),
            ("source", pa.string()),
            ("split", pa.string()),
        ]
    )


# Every column of ours that a row of a curated set may have. A user's column of such a name is carried under another.
# Those of `preferences` alone are not among them: no column of a user stands beside them.
OUR_COLUMNS = frozenset(
    """
    prompt prompt_id problem_id verifier spec family form difficulty source split completion
    rollouts n_scored n_truncated n_verifier_error n_engine_error n mean std passes min_reward max_reward zeros ones
    opening_n opening_mean opening_std
    tokens pass_rate pass_at_1 pass_at_4 pass_at_8 zero_std pass_variance expected_within_variance
    n_eff variance_share alpha beta p_zero p_one p_in_band p_min_std p_keep ci_low ci_high std_low std_high
    usable_at_g zero_std_at_2 zero_std_at_4 zero_std_at_8 zero_std_at_16 zero_std_at_32 zero_std_at_64
    predicted_rate decision certified_by collides_with overlap triage evidence
    """.split()
)
