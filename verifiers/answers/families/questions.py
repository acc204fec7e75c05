"""What these families share: the numbers in a question, and the files of other words and of curricula."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path

NATURAL_QUESTIONS = Path(str(resources.files("learnable.verifiers.answers.families"))) / "natural.toml"
CURRICULA = Path(str(resources.files("learnable.verifiers.answers.curricula")))


def find_numbers(text: str) -> list[str]:
    """Return the numbers in a text, as they are written there."""
    return re.findall(r"\d+(?:\.\d+)?", text)
