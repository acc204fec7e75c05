"""Where tests find the project's own files, and public data where there is some."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden"
PUBLIC_DATA = Path(os.environ.get("LEARNABLE_DATA", ROOT.parent / "shared" / "data"))
