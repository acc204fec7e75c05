from __future__ import annotations

from typing import Any

import pytest

from learnable.data.errors import LearnableError, UnknownNameError
from learnable.train.trl_options import OUR_SETTINGS, check_trl_options, read_trl_options

pytestmark = [
    pytest.mark.filterwarnings("ignore:TRL currently supports vLLM:UserWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        (["epsilon"], "`trl` 'epsilon' is not key=value: give for example"),
        (["=1"], "is not key=value"),
        (["a=1", "a=2"], "`trl` a is given twice"),
    ],
)
def test_pairs_that_are_none_are_refused(pairs: list[str], message: str) -> None:
    with pytest.raises(LearnableError, match=message):
        read_trl_options(pairs)


def test_text_may_have_equals_signs() -> None:
    assert read_trl_options(["run_name=a=b"]) == {"run_name": "a=b"}


@pytest.mark.parametrize(
    "given",
    [
        {"epsilon_high": 0.28},
        {"epsilon_high": 1},
        {"run_name": "first"},
        {"mask_truncated_completions": True},
    ],
)
def test_what_the_installed_trl_has_is_taken(given: dict[str, Any]) -> None:
    check_trl_options(given, "grpo")


def test_losses_of_other_methods_have_no_flag() -> None:
    check_trl_options({"loss_type": ["ipo"], "max_length": 512, "label_smoothing": 0.1}, "dpo")
    with pytest.raises(LearnableError, match="give `loss_type` for it"):
        check_trl_options({"loss_type": "dapo"}, "grpo")
    with pytest.raises(LearnableError, match=r"`trl` beta=0\.2: give `beta` for it"):
        check_trl_options({"beta": 0.2}, "dpo")
    with pytest.raises(UnknownNameError, match=r"unknown setting of DPOConfig .* 'epsilon'"):
        check_trl_options({"epsilon": 0.2}, "dpo")


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"epsilon_hihg": 0.28}, UnknownNameError, "epsilon_high"),
        ({"beta": 0.1}, LearnableError, "`trl` beta=0.1: give `beta` for it"),
        ({"mask_truncated_completions": "yes"}, LearnableError, "mask_truncated_completions='yes' cannot work"),
        ({"epsilon": True}, LearnableError, "epsilon=True cannot work: GRPOConfig wants float"),
    ],
)
def test_what_it_has_not_is_refused(given: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        check_trl_options(given, "grpo")


def test_our_flags_stand_for_settings_that_trl_has() -> None:
    from dataclasses import fields

    from trl import GRPOConfig

    assert set(OUR_SETTINGS) <= {field.name for field in fields(GRPOConfig)}
