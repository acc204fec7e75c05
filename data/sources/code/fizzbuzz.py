"""FizzBuzz, one number or a list at a time."""

from __future__ import annotations

from learnable.data.sources.code.inputs import numbers
from learnable.data.sources.code.problem import CodeProblem

PAIRS = ((3, 5), (2, 7), (4, 6), (3, 4), (6, 9))
ONE_TO_FORTY = tuple((n,) for n in (1, 2, 3, 4, 5, 6, 7, 12, 14, 15, 16, 18, 20, 28, 36))

FIZZBUZZ = (
    CodeProblem(
        form="FizzBuzzCount",
        names=("count_fizz_or_buzz", "count_multiples", "how_many"),
        signature="n",
        statement="returns how many whole numbers from 1 to n are divisible by {0} or by {1}",
        level=4.0,
        solutions=(
            "return sum(1 for i in range(1, n + 1) if i % {0} == 0 or i % {1} == 0)",
            """
            import math
            both = {0} * {1} // math.gcd({0}, {1})
            return n // {0} + n // {1} - n // both
            """,
        ),
        wrong=(
            "return sum(1 for i in range(1, n) if i % {0} == 0 or i % {1} == 0)",
            "return n // {0} + n // {1}",
        ),
        example=(10,),
        edges=((0,), (1,), (3,), (4,), (5,), (6,), (7,), (12,), (14,), (15,), (36,), (100,)),
        draw=numbers(16, 300),
        parameters=PAIRS,
    ),
    CodeProblem(
        form="FizzBuzzWords",
        names=("word_for", "say", "fizz"),
        signature="n",
        statement="returns '{2}' if n is divisible by {0}, '{3}' if by {1}, '{2}{3}' if by both, else n as a string",
        level=5.0,
        solutions=(
            """
            word = ""
            if n % {0} == 0:
                word += "{2}"
            if n % {1} == 0:
                word += "{3}"
            return word or str(n)
            """,
            """
            if n % {0} == 0 and n % {1} == 0:
                return "{2}{3}"
            if n % {0} == 0:
                return "{2}"
            if n % {1} == 0:
                return "{3}"
            return str(n)
            """,
        ),
        wrong=(
            """
            if n % {0} == 0:
                return "{2}"
            if n % {1} == 0:
                return "{3}"
            if n % {0} == 0 and n % {1} == 0:
                return "{2}{3}"
            return str(n)
            """,
            """
            word = "{2}" * (n % {0} == 0) + "{3}" * (n % {1} == 0)
            return word or n
            """,
        ),
        example=(8,),
        edges=ONE_TO_FORTY,
        draw=numbers(40, 500),
        parameters=((3, 5, "Ping", "Pong"), (2, 7, "Tick", "Tock"), (4, 6, "Red", "Blue"), (3, 4, "Hip", "Hop")),
    ),
    CodeProblem(
        form="FizzBuzzDigit",
        names=("fizz_digit", "fizz_if_seen", "digit_fizz"),
        signature="n",
        statement="returns 'Fizz' if n is divisible by {0} or has the digit {0} in it, else n as a string",
        level=5.0,
        solutions=(
            'return "Fizz" if n % {0} == 0 or "{0}" in str(n) else str(n)',
            """
            rest = n
            while rest:
                if rest % 10 == {0}:
                    return "Fizz"
                rest //= 10
            if n % {0} == 0:
                return "Fizz"
            return str(n)
            """,
        ),
        wrong=(
            'return "Fizz" if n % {0} == 0 else str(n)',
            'return "Fizz" if n % {0} == 0 or n % 10 == {0} else str(n)',
        ),
        example=(10,),
        edges=(
            (1,),
            (3,),
            (4,),
            (6,),
            (7,),
            (8,),
            (13,),
            (31,),
            (44,),
            (61,),
            (72,),
            (87,),
            (430,),
            (645,),
            (788,),
            (835,),
        ),
        draw=numbers(10, 999),
        parameters=((3,), (4,), (6,), (7,), (8,)),
    ),
    CodeProblem(
        form="FizzBuzzList",
        names=("fizzbuzz_list", "fizzbuzz_to", "play"),
        signature="n",
        statement="returns the list of answers for 1 to n, where an answer is 'Fizz' if the number is divisible by "
        "{0}, 'Buzz' if by {1}, 'FizzBuzz' if by both, else the number as a string",
        level=5.5,
        solutions=(
            """
            answers = []
            for i in range(1, n + 1):
                word = "Fizz" * (i % {0} == 0) + "Buzz" * (i % {1} == 0)
                answers.append(word or str(i))
            return answers
            """,
            """
            answers = [str(i) for i in range(n + 1)]
            for i in range({0}, n + 1, {0}):
                answers[i] = "Fizz"
            for i in range({1}, n + 1, {1}):
                answers[i] = "FizzBuzz" if answers[i] == "Fizz" else "Buzz"
            return answers[1:]
            """,
        ),
        wrong=(
            'return [("Fizz" * (i % {0} == 0) + "Buzz" * (i % {1} == 0)) or str(i) for i in range(1, n)]',
            'return [("Fizz" * (i % {0} == 0) + "Buzz" * (i % {1} == 0)) or i for i in range(1, n + 1)]',
            'return ["Fizz" if i % {0} == 0 else "Buzz" if i % {1} == 0 else str(i) for i in range(1, n + 1)]',
        ),
        example=(4,),
        edges=((0,), (1,), (2,), (7,), (12,), (15,), (18,)),
        draw=numbers(16, 40),
        parameters=PAIRS,
    ),
    CodeProblem(
        form="FizzBuzzThree",
        names=("fizz_buzz_bang", "three_words", "say_all"),
        signature="n",
        statement="joins the words that fit, in this order: 'Fizz' if n is divisible by {0}, 'Buzz' if by {1}, 'Bang' "
        "if by {2}. It returns the joined words, or n as a string where none fits",
        level=6.0,
        solutions=(
            """
            words = [({0}, "Fizz"), ({1}, "Buzz"), ({2}, "Bang")]
            return "".join(word for k, word in words if n % k == 0) or str(n)
            """,
            """
            out = ""
            if n % {0} == 0:
                out += "Fizz"
            if n % {1} == 0:
                out += "Buzz"
            if n % {2} == 0:
                out += "Bang"
            if out == "":
                return str(n)
            return out
            """,
        ),
        wrong=(
            """
            if n % {0} == 0:
                return "Fizz"
            if n % {1} == 0:
                return "Buzz"
            if n % {2} == 0:
                return "Bang"
            return str(n)
            """,
            """
            out = "Fizz" * (n % {0} == 0) + "Buzz" * (n % {1} == 0)
            return out or ("Bang" if n % {2} == 0 else str(n))
            """,
        ),
        example=(11,),
        edges=((1,), (2,), (3,), (4,), (5,), (7,), (15,), (21,), (28,), (30,), (35,), (42,), (60,), (105,), (210,)),
        draw=numbers(12, 420),
        parameters=((3, 5, 7), (2, 3, 5), (2, 5, 7), (3, 4, 5)),
    ),
)
