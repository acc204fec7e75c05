"""Mathematics is judged in processes that can be killed: what hangs, eats memory or raises costs itself alone."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from learnable.data.errors import LearnableError
from learnable.data.records import Score
from learnable.verifiers.answers.kinds import mathematics
from learnable.verifiers.answers.kinds.mathematics import MathsVerifier
from learnable.verifiers.pool.scoring import ScoreJob, ScoringPool
from learnable.verifiers.protocol import SpecError, verifier_memory_limit

BOUND = 300.0
STAND_IN = Path(__file__).with_name("math_verify_for_tests.py")


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(STAND_IN, tmp_path / "math_verify.py")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "math_verify", raising=False)
    mathematics._library.cache_clear()
    mathematics._parse.cache_clear()


@pytest.fixture(autouse=True)
def _forget_the_library() -> Any:
    yield
    mathematics._library.cache_clear()
    mathematics._parse.cache_clear()
    sys.modules.pop("math_verify", None)


def job(completion: str, answer: object = "1/2") -> ScoreJob:
    return ScoreJob("mathematics", completion, "", json.dumps({"answer": answer}))


def judged(completion: str, **spec: Any) -> Score:
    return MathsVerifier().score(completion, prompt="", spec={"answer": "1/2", **spec})


def children_of(pid: str) -> list[str]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text(encoding="utf-8").rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if fields[1] == pid and fields[0] != "Z":
            found.append(stat.parent.name)
    return found


@pytest.mark.slow
@pytest.mark.usefixtures("stand_in")
@pytest.mark.skipif(sys.platform != "linux", reason="counts processes by /proc")
def test_three_of_a_thousand_misbehave_and_cost_themselves_alone() -> None:
    bad = {100: r"\boxed{701/2}", 500: r"\boxed{702/2}", 900: r"\boxed{703/2}"}
    answers = [bad.get(number, rf"\boxed{{{number % 4}/2}}") for number in range(1000)]
    me = Path("/proc/self").resolve().name
    before = set(children_of(me))
    with ScoringPool(2) as pool:
        scores = pool.submit([job(answer) for answer in answers]).result(BOUND)
    assert set(children_of(me)) <= before
    assert [number for number, score in enumerate(scores) if score.verdict != "scored"] == list(bad)
    assert [number for number, score in enumerate(scores) if score.passed] == [
        number for number in range(1000) if number % 4 == 1 and number not in bad
    ]
    assert {scores[number].reward for number in bad} == {None}
    assert scores[100].reason == "time limit: no score within 5 s"
    assert scores[500].reason.startswith(("math-verify raised MemoryError", "time limit"))  # on a busy machine
    assert scores[900].reason == "math-verify raised TimeoutException: Operation timed out!"


@pytest.mark.slow
@pytest.mark.usefixtures("stand_in")
@pytest.mark.skipif(sys.platform != "linux", reason="other systems know no limit of address space")
def test_memory_runs_out_before_the_machine_does() -> None:
    with ScoringPool(1, time_limit=BOUND) as pool:
        eaten, after = pool.submit([job(r"\boxed{702/2}"), job(r"\boxed{1/2}")]).result(BOUND)
    assert eaten.reason.startswith("math-verify raised MemoryError")
    assert after.passed


@pytest.mark.usefixtures("stand_in")
def test_wrong_unread_and_failed_are_told_apart() -> None:
    assert judged(r"\boxed{1/2}").reward == 1.0
    wrong = judged(r"\boxed{3/2}")
    assert (wrong.reward, wrong.verdict, wrong.reason) == (0.0, "scored", "answered 3/2")
    words = judged(r"\boxed{nothing}")
    assert (words.reward, words.verdict, words.reason) == (0.0, "scored", "answered nothing")
    unread = judged(r"\boxed{$}")
    assert (unread.reward, unread.verdict) == (0.0, "scored")
    assert unread.reason == "extraction_failed: no mathematics: $"
    failed = judged(r"\boxed{703/2}")
    assert (failed.reward, failed.verdict) == (None, "verifier_error")
    assert judged("1/2", extract="boxed").reason == r"extraction_failed: no \boxed{}"


@pytest.mark.parametrize("answer", ["$$", r"\frac{1}{2", "}{", ".", r"x+\text{a}}", "x + " * 200 + "x"])
def test_a_gold_answer_that_cannot_be_read_is_refused_when_it_is_read(answer: str) -> None:
    with pytest.raises(SpecError, match=r"'answer' is .*; give"):
        MathsVerifier().check_spec({"answer": answer})


GOLDS = (
    r"\textcircled{2}\textcircled{3}", r"\$36", "b > a > c", r"\begin{pmatrix}1\\2\end{pmatrix}", "0;3", r"2516_8",
    r"$\frac{1}{221}$;$\frac{1}{17}$", r"\text{no solution}", r"C. $\{x \mid -3<x<4\}$", "\u7b2c\u4e00\u8c61\u9650",
    r"\overrightarrow{P Q}=\left[\begin{array}{r}3 \\ 1\end{array}\right]", "Mrs. Hill", r"n \perp \alpha",
    "9 (apples)", r"9^{9^{9^9}}",
)  # fmt: skip


@pytest.mark.parametrize("answer", GOLDS)
def test_a_gold_answer_equals_itself_and_no_other(answer: str) -> None:
    verifier = MathsVerifier()
    verifier.check_spec({"answer": answer})
    assert verifier.score(rf"\boxed{{{answer}}}", prompt="", spec={"answer": answer}).passed
    others = [gold for gold in GOLDS if gold != answer and "9^{9" not in gold + answer]
    for other in (*others, *(f"{answer}, {other}" for other in others)):
        assert not verifier.score(rf"\boxed{{{other}}}", prompt="", spec={"answer": answer}).passed, other


@pytest.mark.usefixtures("stand_in")
@pytest.mark.parametrize("error", [KeyboardInterrupt, GeneratorExit])
def test_ctrl_c_is_nobodys_answer(monkeypatch: pytest.MonkeyPatch, error: type[BaseException]) -> None:
    def stop(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(mathematics._library(), "parse", stop)
    with pytest.raises(error):
        judged(r"\boxed{3/2}")


def test_a_library_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mathematics, "LIBRARY", "no_such_library")
    with pytest.raises(LearnableError, match=r"pip install 'learnable\[math\]'"):
        judged(r"\boxed{1/2}")


def test_memory_has_a_limit() -> None:
    assert verifier_memory_limit(MathsVerifier()) == 512 << 20


@pytest.mark.parametrize(
    ("key", "value"), [("answer", ""), ("answer", True), ("extract", "first"), ("extract", "letter")]
)
def test_specs_of_no_use(key: str, value: object) -> None:
    with pytest.raises(SpecError, match=f"'{key}' is"):
        MathsVerifier().check_spec({"answer": "1", key: value})


def test_the_real_library_reads_latex() -> None:
    score = MathsVerifier().score(r"\boxed{\frac{2}{4}}", prompt="", spec={"answer": r"\frac{1}{2}"})
    assert score.passed


@pytest.mark.slow
def test_what_the_real_library_never_ends_costs_itself_alone() -> None:
    bad = {3: r"\boxed{9^{9^{9^{9}}}}", 7: r"\boxed{(10^{10})!}"}
    answers = [bad.get(number, rf"\boxed{{\frac{{{number % 4}}}{{2}}}}") for number in range(12)]
    with ScoringPool(2) as pool:
        scores = pool.submit([job(answer) for answer in answers]).result(BOUND)
    assert {number: score.reason for number, score in enumerate(scores) if score.verdict != "scored"} == dict.fromkeys(
        bad, "time limit: no score within 5 s"
    )
    assert [number for number, score in enumerate(scores) if score.passed] == [1, 5, 9]
