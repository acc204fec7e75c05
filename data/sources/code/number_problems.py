"""Programming problems on whole numbers."""

from __future__ import annotations

import math

from learnable.data.sources.code.problem import Problem

NUMBERS = tuple((n,) for n in (0, 1, 2, 3, 5, 6, 9, 10, 12))
SMALL = tuple((k,) for k in range(2, 10))


def _fizzbuzz(n: int, first: int, second: int) -> str:
    return ("Fizz" * (n % first == 0) + "Buzz" * (n % second == 0)) or str(n)


def _fibonacci(n: int) -> int:
    return n if n < 2 else _fibonacci(n - 1) + _fibonacci(n - 2)


NUMBER_PROBLEMS = (
    Problem(
        "AddNumber",
        ("add_number", "increase", "plus"),
        "n",
        "returns n plus {0}",
        ("return n + {0}", "total = n + {0}\nreturn total"),
        lambda n, k: n + k,
        NUMBERS,
        SMALL,
        1.0,
    ),
    Problem(
        "TimesNumber",
        ("times_number", "scale", "multiply"),
        "n",
        "returns n times {0}",
        ("return n * {0}", "product = n * {0}\nreturn product"),
        lambda n, k: n * k,
        NUMBERS,
        SMALL,
        1.0,
    ),
    Problem(
        "IsEven",
        ("is_even", "even"),
        "n",
        "returns True if n is even, else False",
        ("return n % 2 == 0", "if n % 2 == 0:\n    return True\nreturn False"),
        lambda n: n % 2 == 0,
        NUMBERS,
        level=1.5,
    ),
    Problem(
        "IsDivisible",
        ("is_divisible", "divides", "is_multiple"),
        "n",
        "returns True if n is divisible by {0}, else False",
        ("return n % {0} == 0", "if n % {0} == 0:\n    return True\nreturn False"),
        lambda n, k: n % k == 0,
        NUMBERS,
        SMALL,
        2.0,
    ),
    Problem(
        "FizzBuzz",
        ("fizzbuzz", "fizz_buzz"),
        "n",
        "returns 'Fizz' if n is divisible by {0}, 'Buzz' if by {1}, 'FizzBuzz' if by both, else n as a string",
        (
            'if n % {0} == 0 and n % {1} == 0:\n    return "FizzBuzz"\nif n % {0} == 0:\n    return "Fizz"\n'
            'if n % {1} == 0:\n    return "Buzz"\nreturn str(n)',
            (
                'word = ""\nif n % {0} == 0:\n    word += "Fizz"\nif n % {1} == 0:\n    word += "Buzz"\n'
                "return word or str(n)"
            ),
        ),
        _fizzbuzz,
        tuple((n,) for n in (1, 2, 3, 4, 5, 7, 10, 12, 14, 15, 21, 30)),
        ((3, 5), (2, 7), (3, 7), (2, 5), (4, 6), (2, 3)),
        5.0,
    ),
    Problem(
        "Factorial",
        ("factorial", "fact"),
        "n",
        "returns the factorial of n",
        (
            "result = 1\nfor i in range(2, n + 1):\n    result *= i\nreturn result",
            "if n <= 1:\n    return 1\nreturn n * NAME(n - 1)",
        ),
        math.factorial,
        NUMBERS,
        level=5.0,
    ),
    Problem(
        "Fibonacci",
        ("fibonacci", "fib"),
        "n",
        "returns the n-th Fibonacci number, counting from 0",
        (
            "a, b = 0, 1\nfor _ in range(n):\n    a, b = b, a + b\nreturn a",
            "if n < 2:\n    return n\nreturn NAME(n - 1) + NAME(n - 2)",
        ),
        _fibonacci,
        NUMBERS,
        level=6.0,
    ),
    Problem(
        "SumTo",
        ("sum_to", "triangle"),
        "n",
        "returns the sum of the whole numbers from 1 to n",
        ("return sum(range(1, n + 1))", "total = 0\nfor i in range(1, n + 1):\n    total += i\nreturn total"),
        lambda n: n * (n + 1) // 2,
        NUMBERS,
        level=4.0,
    ),
    Problem(
        "SumMultiples",
        ("sum_multiples", "add_multiples"),
        "n",
        "returns the sum of the multiples of {0} below n",
        (
            "return sum(range(0, n, {0}))",
            "total = 0\nfor i in range(n):\n    if i % {0} == 0:\n        total += i\nreturn total",
        ),
        lambda n, k: sum(i for i in range(n) if i % k == 0),
        NUMBERS,
        SMALL,
        5.0,
    ),
    Problem(
        "GreatestDivisor",
        ("gcd", "greatest_divisor"),
        "a, b",
        "returns the greatest common divisor of a and b",
        ("while b:\n    a, b = b, a % b\nreturn a", "if b == 0:\n    return a\nreturn NAME(b, a % b)"),
        math.gcd,
        ((12, 18), (7, 5), (9, 3), (10, 4), (6, 6), (35, 14)),
        level=6.0,
    ),
    Problem(
        "DigitSum",
        ("digit_sum", "sum_digits"),
        "n",
        "returns the sum of the decimal digits of n",
        ("return sum(int(d) for d in str(n))", "total = 0\nwhile n:\n    total += n % 10\n    n //= 10\nreturn total"),
        lambda n: sum(map(int, str(n))),
        ((0,), (7,), (10,), (38,), (99,), (4096,)),
        level=5.0,
    ),
)
