"""Letters: their order, number and place in a string."""

from __future__ import annotations

from learnable.data.sources.code.inputs import sentences, texts, together
from learnable.data.sources.code.problem import CodeProblem

STRINGS = (
    CodeProblem(
        form="FirstLetters",
        names=("first_letters", "start_of", "beginning"),
        signature="s",
        statement="returns the first {0} characters of the string s, or all of s where it is shorter",
        level=1.0,
        solutions=("return s[:{0}]", 'return "".join(c for i, c in enumerate(s) if i < {0})'),
        wrong=("return s[:{0} - 1]", "return s[1:{0} + 1]", "return s[-{0}:]"),
        example=("window",),
        edges=(("",), ("a",), ("abcdefgh",), ("strawberry",), ("abc",)),
        draw=texts("abcdef ", 12, 1),
        parameters=tuple((k,) for k in range(2, 8)),
    ),
    CodeProblem(
        form="RemoveLetter",
        names=("remove_letter", "without", "drop_letter"),
        signature="s",
        statement="returns the string s without any letter {0}; other letters stay, capital {1} among them",
        level=2.0,
        solutions=('return s.replace("{0}", "")', 'return "".join(c for c in s if c != "{0}")'),
        wrong=(
            'return s.replace("{0}", "", 1)',
            'return s.strip("{0}")',
            'return "".join(c for c in s if c.lower() != "{0}")',
        ),
        example=("moon",),
        edges=(
            ("",),
            ("Amazing alabama sea",),
            ("Ensnared serene eels",),
            ("No moon or onion",),
            ("Sassy missis says so",),
        ),
        draw=texts("aenosAENOS ", 14, 3),
        parameters=(("a", "A"), ("e", "E"), ("n", "N"), ("s", "S")),
    ),
    CodeProblem(
        form="Anagrams",
        names=("are_anagrams", "is_anagram", "same_letters"),
        signature="a, b",
        statement="returns True if the strings a and b are made of the same letters, each as often, else False. "
        "Capital and small letters count as the same, and spaces do not count",
        level=4.0,
        solutions=(
            'return sorted(a.lower().replace(" ", "")) == sorted(b.lower().replace(" ", ""))',
            """
            counts = {}
            for text, step in ((a, 1), (b, -1)):
                for c in text.lower():
                    if c != " ":
                        counts[c] = counts.get(c, 0) + step
            return not any(counts.values())
            """,
        ),
        wrong=(
            "return sorted(a) == sorted(b)",
            'return set(a.lower()) - {" "} == set(b.lower()) - {" "}',
            "return sorted(a.lower()) == sorted(b.lower())",
        ),
        example=("tea", "Eat"),
        edges=(
            ("", ""),
            ("listen", "silent"),
            ("Night", "thing"),
            ("aab", "abb"),
            ("a gentleman", "elegant man"),
            ("abc", "ab"),
            ("dirty room", "dormitory"),
        ),
        draw=together(texts("ab", 4, 2), texts("abA ", 5, 2)),
    ),
    CodeProblem(
        form="CaesarShift",
        names=("shift_letters", "caesar", "encode"),
        signature="s",
        statement="returns the string s with every letter moved {0} places on in the alphabet, after z on to a. "
        "Capitals stay capitals, and other characters stay as they are",
        level=5.0,
        solutions=(
            """
            out = ""
            for c in s:
                if "a" <= c <= "z":
                    c = chr((ord(c) - ord("a") + {0}) % 26 + ord("a"))
                elif "A" <= c <= "Z":
                    c = chr((ord(c) - ord("A") + {0}) % 26 + ord("A"))
                out += c
            return out
            """,
            """
            small = "abcdefghijklmnopqrstuvwxyz"
            moved = small[{0}:] + small[:{0}]
            return s.translate(str.maketrans(small + small.upper(), moved + moved.upper()))
            """,
        ),
        wrong=(
            'return "".join(chr(ord(c) + {0}) if c.isalpha() else c for c in s)',
            'return "".join(chr((ord(c) - 97 + {0}) % 26 + 97) if c.isalpha() else c for c in s)',
            'return "".join(chr((ord(c.lower()) - 97 + {0}) % 26 + 97) if c.isalpha() else c for c in s)',
        ),
        example=("Ab!",),
        edges=(("",), ("abc",), ("xyz",), ("Zoo",), ("Hello, World 42",), ("WXYZ wxyz",)),
        draw=sentences(3),
        parameters=tuple((k,) for k in (1, 3, 5, 7, 11, 13)),
    ),
    CodeProblem(
        form="RunLength",
        names=("run_length", "count_runs", "squeeze"),
        signature="s",
        statement="returns the string s with every run of the same letter written as the letter and the run's length",
        level=5.5,
        solutions=(
            """
            out, i = "", 0
            while i < len(s):
                j = i
                while j < len(s) and s[j] == s[i]:
                    j += 1
                out += s[i] + str(j - i)
                i = j
            return out
            """,
            """
            import itertools
            return "".join(c + str(len(list(run))) for c, run in itertools.groupby(s))
            """,
        ),
        wrong=(
            'return "".join(c + str(s.count(c)) for c in dict.fromkeys(s))',
            """
            out, count = "", 1
            for i in range(1, len(s)):
                if s[i] == s[i - 1]:
                    count += 1
                else:
                    out += s[i - 1] + str(count)
                    count = 1
            return out
            """,
        ),
        example=("aab",),
        edges=(("",), ("a",), ("abc",), ("aaabbc",), ("aabaa",), ("zzzzzzzzzzzz",)),
        draw=texts("ab", 12, 2),
    ),
    CodeProblem(
        form="IsRotation",
        names=("is_rotation", "rotated", "turns_into"),
        signature="a, b",
        statement="returns True if the string b can be made from a by moving characters from its start to its end, in "
        "order, else False. Every string can be made from itself",
        level=6.0,
        solutions=(
            "return len(a) == len(b) and b in a + a",
            "return a == b or any(a[i:] + a[:i] == b for i in range(len(a)))",
        ),
        wrong=(
            "return sorted(a) == sorted(b)",
            "return b in a + a",
            "return any(a[i:] + a[:i] == b for i in range(len(a)))",
        ),
        example=("abc", "bca"),
        edges=(
            ("", ""),
            ("a", "a"),
            ("abcd", "cdab"),
            ("abcd", "dcba"),
            ("abc", "ab"),
            ("aab", "aba"),
            ("ab", "abab"),
            ("a", ""),
        ),
        draw=together(texts("ab", 4, 3), texts("ab", 4, 3)),
    ),
    CodeProblem(
        form="LongestDistinct",
        names=("longest_distinct", "longest_unique", "no_repeats"),
        signature="s",
        statement="returns the length of the longest unbroken stretch of the string s in which no character comes "
        "twice",
        level=8.0,
        solutions=(
            """
            last, start, best = {}, 0, 0
            for i, c in enumerate(s):
                start = max(start, last.get(c, -1) + 1)
                last[c] = i
                best = max(best, i - start + 1)
            return best
            """,
            """
            best = 0
            for i in range(len(s)):
                for j in range(i + 1, len(s) + 1):
                    if len(set(s[i:j])) == j - i:
                        best = max(best, j - i)
            return best
            """,
        ),
        wrong=(
            "return len(set(s))",
            """
            best, seen = 0, ""
            for c in s:
                seen = c if c in seen else seen + c
                best = max(best, len(seen))
            return best
            """,
            """
            last, start, best = {}, 0, 0
            for i, c in enumerate(s):
                start = last.get(c, -1) + 1 if c in last else start
                last[c] = i
                best = max(best, i - start + 1)
            return best
            """,
        ),
        example=("aab",),
        edges=(("",), ("a",), ("aaaa",), ("abcabcbb",), ("pwwkew",), ("dvdf",), ("abba",), ("tmmzuxt",)),
        draw=texts("abcde", 14, 4),
    ),
)
