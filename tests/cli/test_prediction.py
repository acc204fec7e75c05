"""What a person is told of predicted pass rates on the command line."""

from __future__ import annotations

import json
import random
from pathlib import Path

from tests.cli.files_for_tests import Run


def test_what_was_predicted_from_what_is_told(run: Run) -> None:
    rng = random.Random(4)
    levels = [rng.choice(["easy", "middling", "hard"]) for _ in range(150)]
    rates = {"easy": 0.99, "middling": 0.5, "hard": 0.01}
    rows = [
        {"prompt": f"q {n}", "verifier": "simulated", "spec": {"rate": rates[level]}, "level": level, "size": n % 7}
        for n, level in enumerate(levels)
    ]
    Path("q.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    plain = ("find", "--prompts", "q.jsonl", "--engine", "simulated", "--no-prefect", "--workers", 0, "--quiet")
    status, out, err = run(*plain, "--store", "a", "--predict-from", "level,size")
    assert status == 0, err
    told = " ".join(out.split())
    assert "Pass rates of q were predicted from column size, column level, numbers in the text, its length" in told
    assert "rollouts, where about" in told
    predicted, usual = (
        json.loads(run(*plain, "--json", "--store", mode, "--predict", mode)[1]) for mode in ("auto", "off")
    )
    assert list(predicted["predictions"]) == ["q"]
    assert predicted["totals"]["rollouts"] < usual["totals"]["rollouts"]
    assert "predictions" not in usual
