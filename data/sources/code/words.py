"""Words: strings cut at their spaces."""

from __future__ import annotations

from learnable.data.sources.code.inputs import mapped, sentences, texts, word_lists
from learnable.data.sources.code.problem import CodeProblem

WORD_PROBLEMS = (
    CodeProblem(
        form="CountWordsInText",
        names=("word_count", "number_of_words", "how_many_words"),
        signature="s",
        statement="returns the number of words in the string s, where words are separated by one or more spaces",
        level=2.0,
        solutions=(
            "return len(s.split())",
            """
            count, inside = 0, False
            for c in s:
                if c != " " and not inside:
                    count += 1
                inside = c != " "
            return count
            """,
        ),
        wrong=('return s.count(" ") + 1', 'return len(s.split(" "))', "return len(s)"),
        example=("moon and star",),
        edges=(("",), ("one",), ("two  words",), (" lead and trail ",), ("   ",), ("a b c d",)),
        draw=texts("ab  ", 14, 3),
    ),
    CodeProblem(
        form="ReverseWords",
        names=("reverse_words", "words_backwards", "turn_words"),
        signature="s",
        statement="returns the words of the string s in reverse order, with one space between them",
        level=3.0,
        solutions=(
            'return " ".join(s.split()[::-1])',
            """
            out = ""
            for word in s.split():
                out = word + (" " + out if out else "")
            return out
            """,
        ),
        wrong=(
            "return s[::-1]",
            'return " ".join(s.split(" ")[::-1])',
            'return " ".join(word[::-1] for word in s.split())',
        ),
        example=("green door",),
        edges=(("",), ("one",), ("the old tree",), (" two   spaces ",), ("a b c",)),
        draw=sentences(6, 2),
    ),
    CodeProblem(
        form="LongestWord",
        names=("longest_word", "find_longest", "long_word"),
        signature="s",
        statement="returns the longest word of the string s, the first of them where several are as long. Words are "
        "separated by spaces, and there is one at least",
        level=3.5,
        solutions=(
            "return max(s.split(), key=len)",
            """
            best = ""
            for word in s.split():
                if len(word) > len(best):
                    best = word
            return best
            """,
        ),
        wrong=("return max(s.split())", "return sorted(s.split(), key=len)[-1]", "return s.split()[0]"),
        example=("an apple fell",),
        edges=(("one",), ("zoo at night",), ("red tea cup",), ("some more text here",), ("a bb cc",)),
        draw=sentences(6, 2),
    ),
    CodeProblem(
        form="TitleWords",
        names=("title_words", "capitals", "make_title"),
        signature="s",
        statement="returns the string s with the first letter of every word made a capital, where words are separated "
        "by single spaces. All other characters stay as they are",
        level=4.0,
        solutions=(
            'return " ".join(word[:1].upper() + word[1:] for word in s.split(" "))',
            """
            out = ""
            for i, c in enumerate(s):
                out += c.upper() if i == 0 or s[i - 1] == " " else c
            return out
            """,
        ),
        wrong=(
            "return s.title()",
            "return s.capitalize()",
            'return " ".join(word.capitalize() for word in s.split(" "))',
        ),
        example=("a small town",),
        edges=(("",), ("one",), ("don't stop",), ("my TV set",), ("Already Good",), ("x y z",)),
        draw=sentences(5, 2),
    ),
    CodeProblem(
        form="CommonPrefix",
        names=("common_prefix", "shared_start", "same_start"),
        signature="words",
        statement="returns the longest string that all the strings in the list words start with, and '' for an empty "
        "list",
        level=5.0,
        solutions=(
            """
            if not words:
                return ""
            prefix = words[0]
            for word in words:
                while not word.startswith(prefix):
                    prefix = prefix[:-1]
            return prefix
            """,
            """
            out = ""
            for column in zip(*words):
                if len(set(column)) > 1:
                    break
                out += column[0]
            return out
            """,
        ),
        wrong=(
            'return "".join(column[0] for column in zip(*words) if len(set(column)) == 1)',
            """
            out = ""
            for i, c in enumerate(words[0]):
                if any(word[i] != c for word in words):
                    break
                out += c
            return out
            """,
        ),
        example=(["stone", "star"],),
        edges=(
            ([],),
            (["moon"],),
            (["flower", "flow", "flight"],),
            (["abc", "xbc"],),
            (["", "a"],),
            (["aa", "aab"],),
            (["inner", "index", "inn"],),
        ),
        draw=mapped(word_lists(3, 2), lambda words: [("pre" + word)[:5] for word in words]),
    ),
    CodeProblem(
        form="CountLongWords",
        names=("count_long_words", "long_words", "how_many_long"),
        signature="s",
        statement="returns how many words of the string s, which are separated by spaces, have {0} letters or more; "
        "characters that are no letters do not count as such",
        level=4.5,
        solutions=(
            "return sum(1 for word in s.split() if sum(c.isalpha() for c in word) >= {0})",
            """
            total = 0
            for word in s.split():
                letters = [c for c in word if c.isalpha()]
                if len(letters) >= {0}:
                    total += 1
            return total
            """,
        ),
        wrong=(
            "return sum(1 for word in s.split() if len(word) >= {0})",
            "return sum(1 for word in s.split() if sum(c.isalpha() for c in word) > {0})",
        ),
        example=("it is cold",),
        edges=(
            ("",),
            ("abc. abcd? abcde!",),
            ("ab, a! abcdef; 1234567",),
            ("abcd, abc, abcde, xyz!",),
            ("it's what's-his-name",),
        ),
        draw=sentences(7, 2),
        parameters=((3,), (4,), (5,), (6,)),
    ),
)
