"""What others said of completions that were imported: kept as it was, and never judged again."""

from __future__ import annotations

from dataclasses import dataclass

from learnable.data.records import RECORDED, Score, Spec


@dataclass(frozen=True, slots=True)
class RecordedVerifier:
    """The rewards that came with a file, under the name of its format. It has none for any other completion."""

    name: str
    version: str = "1"

    def check_spec(self, spec: Spec) -> None:
        """Accept any spec: it is not looked at."""

    def score(self, completion: str, *, prompt: str, spec: Spec) -> Score:
        """Say that nothing is known of a completion that did not come with its reward."""
        source = self.name.removeprefix(RECORDED).partition("?")[0]
        return Score.unscored(
            f"its reward is not in the file that it came from ({source}), and nobody here can judge it: name a judge "
            "with `verifier`"
        )
