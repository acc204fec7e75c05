"""Parsing, harder: quoted cells, text inside text, and patterns."""

from __future__ import annotations

from learnable.data.sources.code.inputs import chosen, lists, mapped, numbers, texts, together
from learnable.data.sources.code.problem import CodeProblem

FORMATS = (
    CodeProblem(
        form="ParseCsvLine",
        names=("split_csv", "csv_cells", "read_line"),
        signature="line",
        statement="splits a line of comma-separated cells into a list. A cell may stand in double quotes: then commas "
        "in it belong to it, and two double quotes in it are one",
        level=8.0,
        solutions=(
            """
            cells, cell, quoted, i = [], "", False, 0
            while i < len(line):
                c = line[i]
                if quoted and c == '"' and line[i + 1:i + 2] == '"':
                    cell += '"'
                    i += 1
                elif c == '"':
                    quoted = not quoted
                elif c == "," and not quoted:
                    cells.append(cell)
                    cell = ""
                else:
                    cell += c
                i += 1
            return cells + [cell]
            """,
            r"""
            import re
            cells = re.findall(r'(?:^|,)(?:"((?:[^"]|"")*)"|([^,"]*))', line if line[:1] != "," else '""' + line)
            return [quoted.replace('""', '"') or bare for quoted, bare in cells]
            """,
        ),
        wrong=(
            'return line.split(",")',
            "return [cell.strip('\"') for cell in line.split(',')]",
            """
            cells, cell, quoted = [], "", False
            for c in line:
                if c == '"':
                    quoted = not quoted
                elif c == "," and not quoted:
                    cells.append(cell)
                    cell = ""
                else:
                    cell += c
            return cells + [cell]
            """,
        ),
        example=("a,b",),
        edges=(("",), (",",), ('"a,b",c',), ('x,"say ""hi""",y',), ("a,,b",), ('""',), ('"1,5","2"',)),
        draw=mapped(
            lists(0, 4, 4, 1), lambda picks: ",".join(["moon", '"a, b"', '"he said ""no"""', "", "7"][i] for i in picks)
        ),
    ),
    CodeProblem(
        form="DecodeRepeats",
        names=("decode_repeats", "unfold", "expand"),
        signature="s",
        statement="returns the string s with every k[text] replaced by the text repeated k times. These may stand "
        "inside one another, and k may have several digits",
        level=8.5,
        solutions=(
            """
            stack, out, number = [], "", 0
            for c in s:
                if c.isdigit():
                    number = 10 * number + int(c)
                elif c == "[":
                    stack.append((out, number))
                    out, number = "", 0
                elif c == "]":
                    before, times = stack.pop()
                    out = before + times * out
                else:
                    out += c
            return out
            """,
            r"""
            import re
            while "[" in s:
                s = re.sub(r"(\d+)\[([^\[\]]*)\]", lambda m: int(m.group(1)) * m.group(2), s)
            return s
            """,
        ),
        wrong=(
            r"""
            import re
            return re.sub(r"(\d+)\[([^\[\]]*)\]", lambda m: int(m.group(1)) * m.group(2), s)
            """,
            """
            stack, out, number = [], "", 0
            for c in s:
                if c.isdigit():
                    number = int(c)
                elif c == "[":
                    stack.append((out, number))
                    out = ""
                elif c == "]":
                    before, times = stack.pop()
                    out = before + times * out
                else:
                    out += c
            return out
            """,
        ),
        example=("2[ab]",),
        edges=(("",), ("abc",), ("3[a]b",), ("2[x3[y]]",), ("12[z]",), ("2[a]3[b]",), ("0[q]r",), ("2[2[2[m]n]]",)),
        draw=mapped(numbers(1, 11, 3), lambda a, b, c: f"{a}[x{b % 4}[yz]{c % 3}[w]]v"),
    ),
    CodeProblem(
        form="WildcardMatch",
        names=("wildcard_match", "fits_pattern", "matches"),
        signature="pattern, s",
        statement="returns True if the whole string s fits the pattern, in which ? stands for any one character and * "
        "for any characters or none, else False",
        level=9.0,
        solutions=(
            """
            if pattern == "":
                return s == ""
            if pattern[0] == "*":
                return NAME(pattern[1:], s) or (s != "" and NAME(pattern, s[1:]))
            return s != "" and pattern[0] in ("?", s[0]) and NAME(pattern[1:], s[1:])
            """,
            """
            places = {0}
            for c in pattern:
                if c == "*":
                    places = set(range(min(places), len(s) + 1)) if places else set()
                else:
                    places = {i + 1 for i in places if i < len(s) and c in ("?", s[i])}
            return len(s) in places
            """,
        ),
        wrong=(
            """
            if pattern == "" or s == "":
                return pattern == s
            if pattern[0] == "*":
                return NAME(pattern[1:], s) or NAME(pattern, s[1:])
            return pattern[0] in ("?", s[0]) and NAME(pattern[1:], s[1:])
            """,
            """
            import re
            return re.match(re.escape(pattern).replace(r"\\\\*", ".*").replace(r"\\\\?", "."), s) is not None
            """,
            """
            i = j = 0
            while i < len(pattern) and j < len(s):
                if pattern[i] == "*":
                    if i + 1 == len(pattern):
                        return True
                    while j < len(s) and s[j] != pattern[i + 1]:
                        j += 1
                    i += 1
                elif pattern[i] in ("?", s[j]):
                    i, j = i + 1, j + 1
                else:
                    return False
            return i == len(pattern) and j == len(s)
            """,
        ),
        example=("a?c", "abc"),
        edges=(
            ("", ""),
            ("", "a"),
            ("*", ""),
            ("*", "abc"),
            ("a*", "a"),
            ("a*b", "acb"),
            ("a*b", "acbd"),
            ("*ab", "aab"),
            ("?*?", "a"),
            ("a.c", "abc"),
            ("*a*b", "xaybzb"),
            ("a", "ab"),
        ),
        draw=together(texts("ab?*", 5, 1), texts("ab", 6, 1)),
    ),
    CodeProblem(
        form="StarPattern",
        names=("star_match", "regex_match", "full_match"),
        signature="pattern, s",
        statement="returns True if the whole string s fits the pattern, in which . stands for any one character and a "
        "character followed by * for any number of it, none among them, else False",
        level=10.0,
        solutions=(
            """
            if pattern == "":
                return s == ""
            first = s != "" and pattern[0] in (".", s[0])
            if pattern[1:2] == "*":
                return NAME(pattern[2:], s) or (first and NAME(pattern, s[1:]))
            return first and NAME(pattern[1:], s[1:])
            """,
            """
            fits = [[False] * (len(s) + 1) for _ in range(len(pattern) + 1)]
            fits[0][0] = True
            for i in range(1, len(pattern) + 1):
                for j in range(len(s) + 1):
                    if pattern[i - 1] == "*":
                        again = j > 0 and pattern[i - 2] in (".", s[j - 1]) and fits[i][j - 1]
                        fits[i][j] = fits[i - 2][j] or again
                    else:
                        fits[i][j] = j > 0 and fits[i - 1][j - 1] and pattern[i - 1] in (".", s[j - 1])
            return fits[-1][-1]
            """,
        ),
        wrong=(
            """
            if pattern == "" or s == "":
                return pattern == s
            first = pattern[0] in (".", s[0])
            if pattern[1:2] == "*":
                return NAME(pattern[2:], s) or (first and NAME(pattern, s[1:]))
            return first and NAME(pattern[1:], s[1:])
            """,
            """
            if pattern == "":
                return s == ""
            if pattern[1:2] == "*":
                while s and pattern[0] in (".", s[0]):
                    s = s[1:]
                return NAME(pattern[2:], s)
            return s != "" and pattern[0] in (".", s[0]) and NAME(pattern[1:], s[1:])
            """,
        ),
        example=("a.c", "abc"),
        edges=(
            ("", ""),
            ("a*", ""),
            ("a*", "aaa"),
            ("a*a", "aa"),
            (".*", "xyz"),
            (".*b", "abab"),
            ("c*a*b", "aab"),
            ("ab*", "b"),
            ("a", "aa"),
            (".", ""),
            ("x*y*", "yx"),
        ),
        draw=together(chosen("a*b", ".*a", "a.b*", "b*a*", ".b*.", "a*.b", "ab*a"), texts("ab", 5, 1)),
    ),
)
