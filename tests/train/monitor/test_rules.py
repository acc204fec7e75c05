"""The shipped rules, and what a file of one's own may say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from learnable.data.errors import LearnableError
from learnable.train.monitor.rules import RELATIVE_TO, SEVERITIES, AlarmRule, read_rules

NEW = """[rules.mine]
metric = "entropy"
below = 0.2
lasts = 3
says = "low: {value:.2f}"
"""


def test_every_shipped_rule_gives_its_reason_and_what_helped() -> None:
    for rule in read_rules():
        assert rule.why, rule.name
        assert rule.helped, rule.name
        assert rule.severity in SEVERITIES
        assert rule.relative_to in ("", *RELATIVE_TO)
        assert "{" not in rule.write("components/a/b", 0.5, 0.5)


def test_what_the_rules_watch() -> None:
    watched = {rule.metric for rule in read_rules()}
    assert watched >= {
        "reward", "within_group_std", "between_group_std", "frac_reward_zero_std", "mean_abs_advantage", "entropy",
        "kl",
        "clipped_tokens", "completion_length", "clipped_ratio", "components/*", "held_out_gap", "eval_forgotten_share",
        "review_gain",
        "repeated_ngrams", "distinct_ngrams", "reward_gain", "lost_share",
    }  # fmt: skip


def test_a_file_changes_adds_and_takes_out(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(NEW + "[rules.kl]\nabove = 0.5\n[rules.zero_std]\noff = true\n[rules.entropy]\nlasts = 9\n")
    shipped, rules = ({rule.name: rule for rule in found} for found in (read_rules(), read_rules(str(file))))
    assert rules["mine"] == AlarmRule("mine", "entropy", "below", 0.2, 3, "low: {value:.2f}")
    assert (rules["kl"].limit, rules["kl"].says) == (0.5, shipped["kl"].says)
    assert (rules["entropy"].lasts, rules["entropy"].limit) == (9, shipped["entropy"].limit)
    assert set(rules) == set(shipped) - {"zero_std"} | {"mine"}


def test_a_condition_takes_the_place_of_another(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("[rules.entropy]\nfalls_by = 1\n")
    [rule] = [rule for rule in read_rules(str(file)) if rule.name == "entropy"]
    assert (rule.condition, rule.limit, rule.relative_to) == ("falls_by", 1.0, "start")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[rules.kl]\nabvoe = 1", "unknown key of FILE: rule kl 'abvoe': did you mean 'above'?"),
        ("[rules.kl]\nabove = '1'", "FILE: rule kl: above = '1' cannot work: give a number"),
        ("[rules.kl]\nabove = nan", "FILE: rule kl: above = nan cannot work: give a number"),
        ("[rules.kl]\nabove = true", "above = True cannot work: give a number"),
        ("[rules.kl]\nsays = 1", "says = 1 cannot work: give a text"),
        ("[rules.kl]\noff = 1", "off = 1 cannot work: give true or false"),
        ("[rules.kl]\nlasts = 0", "lasts = 0 cannot work: give a whole number of logs, 1 or more"),
        ("[rules.kl]\nlasts = 2.5", "lasts = 2.5 cannot work"),
        ("[rules.kl]\nabove = 1\nbelow = 0", "FILE: rule kl: above and below cannot work: give one of above, below"),
        ("[rules.kl]\nrises_by = 1", "rule kl: rises_by needs relative_to: give start or median"),
        ("[rules.kl]\nequals = 1\nrelative_to = 'start'", "equals compares with no start: leave relative_to out"),
        ("[rules.kl]\nfrom_start = true\nrelative_to = 'median'", "from_start cannot be relative to the median"),
        ("[rules.kl]\nrelative_to = 'strat'", "unknown relative_to of FILE: rule kl 'strat': did you mean 'start'?"),
        ("[rules.kl]\nseverity = 'fatal'", "unknown severity of FILE: rule kl 'fatal'"),
        ("[rules.kl]\nmetric = 'entropie'", "unknown metric of FILE: rule kl 'entropie': did you mean 'entropy'?"),
        ("[rules.kl]\nmetric = 'step_seconds'", "unknown metric of FILE: rule kl 'step_seconds'"),
        ("[rules.kl]\nsays = '{values}'", "says = '{values}' cannot be filled in: only {name}, {value}"),
        ("[rules.kl]\nsays = '{value:q}'", "cannot be filled in"),
        ("[rules.new]\nmetric = 'kl'", "FILE: rule new: lasts is missing: a new rule needs metric, lasts, says"),
        ("[rules.new]\nmetric = 'kl'\nlasts = 1\nsays = 'x'", "rule new: no condition cannot work: give one of above"),
        ("[rule.kl]\nabove = 1", "FILE: 'rule' is no rule: write tables [rules.NAME]"),
        ("rules = 1", "FILE: 'rules' is no rule: write tables [rules.NAME]"),
        ("[rules]\nkl = 1", "FILE: rule kl = 1 cannot work: write a table [rules.NAME]"),
        ("[rules.kl", "`monitor` 'FILE' is no TOML"),
    ],
)
def test_what_cannot_work_is_named(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(text + "\n")
    with pytest.raises(LearnableError, match=re.escape(words.replace("FILE", str(file)))):
        read_rules(str(file))


def test_a_file_that_is_gone_is_named() -> None:
    with pytest.raises(LearnableError, match=r"`monitor` 'gone\.toml' cannot be read: No such file"):
        read_rules("gone.toml")
