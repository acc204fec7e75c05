"""Parsing: strings that say something in a form of their own."""

from __future__ import annotations

import random
from typing import Any

from learnable.data.sources.code.inputs import chosen, mapped, numbers, texts, together
from learnable.data.sources.code.problem import CodeProblem


def _draw_version(rng: random.Random) -> list[Any]:
    return [".".join(["1", *(str(rng.randint(0, 12)) for _ in range(rng.randint(0, 2)))])]


PARSING = (
    CodeProblem(
        form="SumInText",
        names=("sum_in_text", "add_numbers_in", "numbers_in"),
        signature="s",
        statement="returns the sum of the whole numbers in the string s, where digits side by side make one number and "
        "signs do not count",
        level=5.0,
        solutions=(
            r"import re" "\n" r'return sum(map(int, re.findall(r"[0-9]+", s)))',
            """
            total, number = 0, ""
            for c in s + " ":
                if c in "0123456789":
                    number += c
                elif number:
                    total += int(number)
                    number = ""
            return total
            """,
        ),
        wrong=(
            "return sum(int(c) for c in s if c.isdigit())",
            "return sum(int(word) for word in s.split() if word.isdigit())",
            (
                'total, number = 0, ""\nfor c in s:\n    if c.isdigit():\n        number += c\n    elif number:\n'
                '        total += int(number)\n        number = ""\nreturn total'
            ),
        ),
        example=("2 cats",),
        edges=(("",), ("none",), ("12",), ("a1b2c3",), ("10 and 20",), ("7-3",), ("x05y",)),
        draw=texts("0123ab ", 12, 4),
    ),
    CodeProblem(
        form="SnakeCase",
        names=("to_snake", "snake_case", "rename"),
        signature="s",
        statement="turns a name such as 'maxValueOf' into 'max_value_of': every capital becomes a small letter with an "
        "underscore before it, except at the start",
        level=5.0,
        solutions=(
            (
                'out = ""\nfor i, c in enumerate(s):\n    out += ("_" if c.isupper() and i else "") + c.lower()\n'
                "return out"
            ),
            r"import re" "\n" r'return re.sub(r"(?<!^)([A-Z])", r"_\1", s).lower()',
        ),
        wrong=(
            'return "".join("_" + c.lower() if c.isupper() else c for c in s)',
            'return "".join("_" + c if c.isupper() and i else c for i, c in enumerate(s))',
            "return s.lower()",
        ),
        example=("lastItem",),
        edges=(("",), ("name",), ("Name",), ("readHTTP",), ("aB",), ("getX2Value",)),
        draw=texts("abcXYZ", 9, 3),
    ),
    CodeProblem(
        form="ParseQuery",
        names=("parse_query", "read_pairs", "query_values"),
        signature="s",
        statement="turns a string such as 'a=1&b=2' into a dictionary of its keys and their values as strings. The "
        "last value of a key counts, a part without '=' has the value '', and empty parts are left out",
        level=5.5,
        solutions=(
            """
            out = {}
            for part in s.split("&"):
                if part:
                    key, _, value = part.partition("=")
                    out[key] = value
            return out
            """,
            """
            out = {}
            for part in filter(None, s.split("&")):
                pieces = part.split("=", 1)
                out[pieces[0]] = pieces[1] if len(pieces) == 2 else ""
            return out
            """,
        ),
        wrong=(
            'return dict(part.split("=") for part in s.split("&") if part)',
            (
                'out = {}\nfor part in s.split("&"):\n    key, _, value = part.partition("=")\n    out[key] = value\n'
                "return out"
            ),
            (
                'out = {}\nfor part in s.split("&"):\n    if part:\n        key, _, value = part.partition("=")\n'
                "        out.setdefault(key, value)\nreturn out"
            ),
        ),
        example=("x=1&y=2",),
        edges=(("",), ("a=",), ("flag",), ("a=1&a=2",), ("k=x=y",), ("a=1&&b=2&",), ("name=ann&age=30",)),
        draw=texts("ab=&1", 10, 3),
    ),
    CodeProblem(
        form="ExpandRanges",
        names=("expand_ranges", "page_list", "read_ranges"),
        signature="s",
        statement="turns a string such as '1-3,7' into the rising list [1, 2, 3, 7] without repeats; parts are "
        "separated by commas, and the empty string makes the empty list",
        level=6.0,
        solutions=(
            """
            pages = set()
            for part in s.split(",") if s else []:
                first, _, last = part.partition("-")
                pages.update(range(int(first), int(last or first) + 1))
            return sorted(pages)
            """,
            """
            out = []
            if s == "":
                return out
            for part in s.split(","):
                ends = [int(end) for end in part.split("-")]
                for page in range(ends[0], ends[-1] + 1):
                    if page not in out:
                        out.append(page)
            out.sort()
            return out
            """,
        ),
        wrong=(
            (
                'p = set()\nfor part in s.split(",") if s else []:\n    a, _, b = part.partition("-")\n'
                "    p.update(range(int(a), int(b or a)))\nreturn sorted(p)"
            ),
            (
                'p = []\nfor part in s.split(",") if s else []:\n    a, _, b = part.partition("-")\n'
                "    p.extend(range(int(a), int(b or a) + 1))\nreturn p"
            ),
            (
                'p = set()\nfor part in s.split(","):\n    a, _, b = part.partition("-")\n'
                "    p.update(range(int(a), int(b or a) + 1))\nreturn sorted(p)"
            ),
        ),
        example=("2-4",),
        edges=(("",), ("5",), ("1-3,7",), ("9,1",), ("1-4,3-6",), ("2,2",), ("10-12,8-9",)),
        draw=mapped(numbers(1, 30, 4), lambda a, b, c, d: f"{a}-{a + b % 5},{c},{d}-{d + 2}"),
    ),
    CodeProblem(
        form="CompareVersions",
        names=("compare_versions", "newer", "version_order"),
        signature="a, b",
        statement="compares two version numbers such as '1.10.2' part by part as numbers, with missing parts as 0, and "
        "returns 1 if a is higher, -1 if b is, and 0 if they are the same",
        level=6.0,
        solutions=(
            """
            left, right = [int(part) for part in a.split(".")], [int(part) for part in b.split(".")]
            size = max(len(left), len(right))
            left += [0] * (size - len(left))
            right += [0] * (size - len(right))
            return (left > right) - (left < right)
            """,
            """
            import itertools
            for x, y in itertools.zip_longest(a.split("."), b.split("."), fillvalue="0"):
                if int(x) != int(y):
                    return 1 if int(x) > int(y) else -1
            return 0
            """,
        ),
        wrong=(
            "return (a > b) - (a < b)",
            'x, y = [int(p) for p in a.split(".")], [int(p) for p in b.split(".")]\nreturn (x > y) - (x < y)',
            (
                'for x, y in zip(a.split("."), b.split(".")):\n    if int(x) != int(y):\n'
                "        return 1 if int(x) > int(y) else -1\nreturn 0"
            ),
        ),
        example=("1.2", "1.3"),
        edges=(
            ("1.0", "1"),
            ("1.10", "1.9"),
            ("2", "2.0.1"),
            ("0.1", "0.1"),
            ("1.01", "1.1"),
            ("3.2.1", "3.2"),
            ("10", "9.9.9"),
        ),
        draw=together(_draw_version, _draw_version),
    ),
    CodeProblem(
        form="RomanValue",
        names=("from_roman", "roman_value", "read_roman"),
        signature="s",
        statement="returns the value of the Roman numeral s",
        level=6.0,
        solutions=(
            """
            values = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}
            total = 0
            for i, c in enumerate(s):
                smaller = i + 1 < len(s) and values[c] < values[s[i + 1]]
                total += -values[c] if smaller else values[c]
            return total
            """,
            """
            total = 0
            for sign, value in (("CM", 900), ("CD", 400), ("XC", 90), ("XL", 40), ("IX", 9), ("IV", 4), ("M", 1000),
                                ("D", 500), ("C", 100), ("L", 50), ("X", 10), ("V", 5), ("I", 1)):
                total += value * s.count(sign)
                s = s.replace(sign, "")
            return total
            """,
        ),
        wrong=(
            'return sum({"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}[c] for c in s)',
            """
            values = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}
            total = 0
            for i, c in enumerate(s):
                smaller = i + 1 < len(s) and values[c] <= values[s[i + 1]]
                total += -values[c] if smaller else values[c]
            return total
            """,
        ),
        example=("VI",),
        edges=(("I",), ("III",), ("IV",), ("IX",), ("XLIV",), ("MCMXCIV",), ("MMMCMXCIX",), ("CDXC",), ("LVIII",)),
        draw=chosen("XXIX", "DCCVII", "MMXXVI", "CXI", "XC", "MDCLXVI", "CMXXI", "LXXX"),
    ),
    CodeProblem(
        form="SimplifyPath",
        names=("simplify_path", "clean_path", "real_path"),
        signature="path",
        statement="returns the shortest form of a path that starts with '/': '.' is the same folder, '..' the one "
        "above, which is '/' itself at the top, and several slashes are one. Only '/' itself ends with a slash",
        level=7.0,
        solutions=(
            """
            kept = []
            for part in path.split("/"):
                if part == "..":
                    kept = kept[:-1]
                elif part not in ("", "."):
                    kept.append(part)
            return "/" + "/".join(kept)
            """,
            'import posixpath\nreturn "/" + posixpath.normpath(path).lstrip("/")',
        ),
        wrong=(
            """
            kept = []
            for part in path.split("/"):
                if part == "..":
                    kept.pop()
                elif part not in ("", "."):
                    kept.append(part)
            return "/" + "/".join(kept)
            """,
            'return path.replace("/./", "/").replace("//", "/").rstrip("/")',
            'return "/" + "/".join(part for part in path.split("/") if part.strip("."))',
        ),
        example=("/a/b/",),
        edges=(
            ("/",),
            ("/a/./b/../c",),
            ("/../x",),
            ("/a//b////c",),
            ("/a/b/../../..",),
            ("/...",),
            ("/.hidden/..name",),
        ),
        draw=mapped(texts("ab./", 12, 3), lambda s: "/" + s),
    ),
)
