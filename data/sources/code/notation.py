"""Numbers as they are written: bases, Roman numerals, English words."""

from __future__ import annotations

from learnable.data.sources.code.inputs import numbers
from learnable.data.sources.code.problem import CodeProblem

NOTATION = (
    CodeProblem(
        form="WriteInBase",
        names=("in_base", "to_digits", "convert"),
        signature="n",
        statement="returns the whole number n, 0 or more, written in base {0} as a string",
        level=5.5,
        solutions=(
            """
            digits = ""
            while n:
                digits = str(n % {0}) + digits
                n //= {0}
            return digits or "0"
            """,
            "if n < {0}:\n    return str(n)\nreturn NAME(n // {0}) + str(n % {0})",
        ),
        wrong=(
            'digits = ""\nwhile n:\n    digits = str(n % {0}) + digits\n    n //= {0}\nreturn digits',
            'digits = ""\nwhile n:\n    digits += str(n % {0})\n    n //= {0}\nreturn digits or "0"',
            'digits = ""\nwhile n >= {0}:\n    digits = str(n % {0}) + digits\n    n //= {0}\nreturn digits or "0"',
        ),
        example=(5,),
        edges=((0,), (1,), (2,), (3,), (8,), (10,), (64,), (255,), (1000,)),
        draw=numbers(11, 5000),
        parameters=((2,), (3,), (5,), (7,), (8,)),
    ),
    CodeProblem(
        form="RomanNumeral",
        names=("to_roman", "roman", "write_roman"),
        signature="n",
        statement="returns the whole number n, from 1 to 3999, as a Roman numeral",
        level=7.0,
        solutions=(
            """
            signs = [(1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"),
                     (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")]
            out = ""
            for value, sign in signs:
                out += sign * (n // value)
                n %= value
            return out
            """,
            """
            out = ""
            for power, (one, five, ten) in ((100, "CDM"), (10, "XLC"), (1, "IVX")):
                digit = n // power % 10
                units = ["", one, one * 2, one * 3, one + five]
                units += [five, five + one, five + one * 2, five + one * 3, one + ten]
                out += units[digit]
            return "M" * (n // 1000) + out
            """,
        ),
        wrong=(
            """
            out = ""
            for value, sign in zip((1000, 500, 100, 50, 10, 5, 1), "MDCLXVI"):
                out += sign * (n // value)
                n %= value
            return out
            """,
            """
            signs = [(1000, "M"), (500, "D"), (100, "C"), (50, "L"), (10, "X")]
            signs += [(9, "IX"), (5, "V"), (4, "IV"), (1, "I")]
            out = ""
            for value, sign in signs:
                out += sign * (n // value)
                n %= value
            return out
            """,
        ),
        example=(6,),
        edges=((1,), (4,), (9,), (40,), (90,), (400,), (1994,), (3999,), (58,)),
        draw=numbers(10, 3998),
    ),
    CodeProblem(
        form="NumberInWords",
        names=("in_words", "spell_number", "say_number"),
        signature="n",
        statement="returns the whole number n, from 0 to 999, in English words, as in 'forty-two' and 'three hundred "
        "and six'",
        level=8.0,
        solutions=(
            """
            small = ("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
                     "sixteen seventeen eighteen nineteen").split()
            tens = "twenty thirty forty fifty sixty seventy eighty ninety".split()
            if n < 20:
                return small[n]
            if n < 100:
                return tens[n // 10 - 2] + ("-" + small[n % 10] if n % 10 else "")
            return small[n // 100] + " hundred" + (" and " + NAME(n % 100) if n % 100 else "")
            """,
            """
            ones = ["", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
            teens = ["ten", "eleven", "twelve"] + [w + "teen" for w in "thir four fif six seven eigh nine".split()]
            tens = [w + "ty" for w in "twen thir for fif six seven eigh nine".split()]
            parts = []
            if n >= 100:
                parts.append(ones[n // 100] + " hundred")
            rest = n % 100
            if 10 <= rest < 20:
                parts.append(teens[rest - 10])
            elif rest >= 20:
                parts.append("-".join(filter(None, [tens[rest // 10 - 2], ones[rest % 10]])))
            elif rest:
                parts.append(ones[rest])
            return " and ".join(parts) or "zero"
            """,
        ),
        wrong=(
            """
            ones = "zero one two three four five six seven eight nine".split()
            return " ".join(ones[int(d)] for d in str(n))
            """,
            """
            small = ("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
                     "sixteen seventeen eighteen nineteen").split()
            tens = "twenty thirty forty fifty sixty seventy eighty ninety".split()
            if n < 20:
                return small[n]
            if n < 100:
                return tens[n // 10 - 2] + "-" + small[n % 10]
            return small[n // 100] + " hundred and " + NAME(n % 100)
            """,
            """
            small = ("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
                     "sixteen seventeen eighteen nineteen").split()
            tens = "twenty thirty forty fifty sixty seventy eighty ninety".split()
            if n < 20:
                return small[n]
            if n < 100:
                return tens[n // 10 - 2] + ("-" + small[n % 10] if n % 10 else "")
            return small[n // 100] + " hundred" + (" " + NAME(n % 100) if n % 100 else "")
            """,
        ),
        example=(21,),
        edges=((0,), (7,), (10,), (15,), (18,), (40,), (99,), (100,), (115,), (340,), (808,), (999,)),
        draw=numbers(20, 998),
    ),
)
