"""The standard library that candidates find loaded. Nothing else can be imported: no file can be read."""

from __future__ import annotations

import contextlib
import importlib
import random

MODULES = (
    "_strptime abc argparse array ast base64 binascii bisect calendar cmath collections collections.abc colorsys "
    "concurrent.futures contextlib contextvars copy copyreg csv dataclasses datetime decimal difflib encodings.ascii "
    "encodings.idna encodings.latin_1 encodings.utf_16 enum errno fileinput fractions functools getpass glob graphlib "
    "hashlib heapq hmac html inspect io ipaddress itertools json keyword linecache locale logging math mmap numbers "
    "opcode operator os.path pathlib pprint queue random re reprlib sched secrets shlex shutil socket stat statistics "
    "string stringprep struct subprocess sys tempfile textwrap threading time token tokenize traceback types typing "
    "unicodedata unittest uuid warnings weakref zlib zoneinfo"
).split()


def load() -> None:
    """Import them, and make chance start from a fixed state, where no seed is given too."""
    for name in MODULES:
        with contextlib.suppress(ImportError):  # an interpreter may be built without one
            importlib.import_module(name)
    random.Random.__init__.__defaults__ = (0,)
    random.Random.seed.__defaults__ = (0, 2)
    random.seed(0)
