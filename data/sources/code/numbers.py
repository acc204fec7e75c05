"""Whole numbers: digits, divisors and primes."""

from __future__ import annotations

from learnable.data.sources.code.inputs import mapped, numbers
from learnable.data.sources.code.problem import CodeProblem

NUMBERS = (
    CodeProblem(
        form="AbsoluteDifference",
        names=("distance", "difference", "gap"),
        signature="a, b",
        statement="returns how far apart the whole numbers a and b are, times {0}",
        level=1.5,
        solutions=("return {0} * abs(a - b)", "return {0} * (max(a, b) - min(a, b))"),
        wrong=("return {0} * (a - b)", "return abs(a - b)", "return {0} * abs(a + b)"),
        example=(3, 8),
        edges=((0, 0), (1, 5), (5, 1), (-3, 4), (-2, -9), (7, 7)),
        draw=numbers(-50, 50, 2),
        parameters=((2,), (3,), (5,), (10,)),
    ),
    CodeProblem(
        form="ClampNumber",
        names=("clamp", "keep_inside", "limit"),
        signature="n",
        statement="returns n, but {0} where n is smaller than {0}, and {1} where n is larger than {1}",
        level=2.5,
        solutions=(
            "return max({0}, min(n, {1}))",
            "if n < {0}:\n    return {0}\nif n > {1}:\n    return {1}\nreturn n",
        ),
        wrong=("return min({0}, max(n, {1}))", "return min(n, {1})", "return n if {0} <= n <= {1} else {0}"),
        example=(0,),
        edges=((-100,), (-6,), (-1,), (1,), (2,), (5,), (8,), (11,), (100,)),
        draw=numbers(-30, 30),
        parameters=((0, 10), (2, 8), (-5, 5), (1, 9)),
    ),
    CodeProblem(
        form="RoundDown",
        names=("round_down", "largest_multiple", "down_to"),
        signature="n",
        statement="returns the largest multiple of {0} that is not larger than the whole number n, which may be "
        "negative",
        level=3.0,
        solutions=("return n - n % {0}", "while n % {0} != 0:\n    n -= 1\nreturn n"),
        wrong=("return int(n / {0}) * {0}", "return n // {0}", "return (n // {0} + 1) * {0}"),
        example=(1,),
        edges=((0,), (2,), (7,), (10,), (12,), (29,), (-1,), (-13,), (-40,)),
        draw=numbers(-99, 99),
        parameters=((3,), (4,), (5,), (7,), (10,)),
    ),
    CodeProblem(
        form="DigitalRoot",
        names=("digital_root", "sum_to_one_digit", "reduce_digits"),
        signature="n",
        statement="adds up the decimal digits of n, then those of the result, until one digit is left, and returns it",
        level=4.0,
        solutions=(
            "while n > 9:\n    n = sum(int(d) for d in str(n))\nreturn n",
            "return 0 if n == 0 else 1 + (n - 1) % 9",
        ),
        wrong=(
            "return sum(int(d) for d in str(n))",
            "return n % 9",
            "n = sum(map(int, str(n)))\nreturn sum(map(int, str(n)))",
        ),
        example=(38,),
        edges=((0,), (5,), (9,), (10,), (18,), (99,), (493193,), (199999999999999999999999,)),
        draw=numbers(10, 99999),
    ),
    CodeProblem(
        form="IsPrime",
        names=("is_prime", "prime", "check_prime"),
        signature="n",
        statement="returns True if the whole number n is a prime number, else False",
        level=4.5,
        solutions=(
            "return n > 1 and all(n % i for i in range(2, n))",
            """
            if n < 2:
                return False
            i = 2
            while i * i <= n:
                if n % i == 0:
                    return False
                i += 1
            return True
            """,
        ),
        wrong=(
            "return all(n % i for i in range(2, n))",
            "return n > 1 and all(n % i for i in range(2, int(n ** 0.5)))",
            "return n == 2 or n > 1 and n % 2 == 1",
            "return n > 2 and all(n % i for i in range(2, n))",
        ),
        example=(7,),
        edges=((0,), (1,), (2,), (3,), (4,), (9,), (15,), (25,), (29,), (49,), (97,), (-7,)),
        draw=numbers(10, 400),
    ),
    CodeProblem(
        form="SumOfDivisors",
        names=("sum_divisors", "divisor_sum", "proper_divisors"),
        signature="n",
        statement="returns the sum of the numbers from 1 on that divide n, n itself not among them",
        level=5.0,
        solutions=(
            "return sum(i for i in range(1, n) if n % i == 0)",
            """
            total, i = 0, 1
            while i * i <= n:
                if n % i == 0:
                    total += i + (n // i if n // i != i else 0)
                i += 1
            return total - n
            """,
        ),
        wrong=(
            "return sum(i for i in range(1, n + 1) if n % i == 0)",
            "return sum(i for i in range(2, n) if n % i == 0)",
            "return sum(1 for i in range(1, n) if n % i == 0)",
        ),
        example=(6,),
        edges=((1,), (2,), (4,), (7,), (9,), (12,), (28,), (36,)),
        draw=numbers(10, 300),
    ),
    CodeProblem(
        form="IsSquare",
        names=("is_square", "perfect_square", "square"),
        signature="n",
        statement="returns True if the whole number n is the square of a whole number, else False. It may be negative "
        "or have more than 20 digits",
        level=5.5,
        solutions=(
            "import math\nreturn n >= 0 and math.isqrt(n) ** 2 == n",
            """
            if n < 0:
                return False
            low, high = 0, n + 1
            while low < high:
                middle = (low + high) // 2
                if middle * middle < n:
                    low = middle + 1
                else:
                    high = middle
            return low * low == n
            """,
        ),
        wrong=(
            "return n >= 0 and (n ** 0.5).is_integer()",
            "import math\nreturn math.isqrt(abs(n)) ** 2 == n or n == -1",
            "return any(i * i == n for i in range(1, 1000))",
        ),
        example=(9,),
        edges=((0,), (1,), (2,), (-1,), (-4,), (16,), (99,), (10**24 + 1,), (10**24,), (123456789123**2,)),
        draw=mapped(numbers(2, 99), lambda n: n * n + n % 3),
    ),
    CodeProblem(
        form="PrimeFactors",
        names=("prime_factors", "factorise", "factors"),
        signature="n",
        statement="returns the rising list of the prime numbers whose product is n, each as often as it is needed",
        level=6.0,
        solutions=(
            """
            out, k = [], 2
            while n > 1:
                while n % k == 0:
                    out.append(k)
                    n //= k
                k += 1
            return out
            """,
            """
            for k in range(2, n):
                if k * k > n:
                    break
                if n % k == 0:
                    return [k] + NAME(n // k)
            return [n] if n > 1 else []
            """,
        ),
        wrong=(
            "return [k for k in range(2, n + 1) if n % k == 0 and all(k % i for i in range(2, k))]",
            "return [k for k in range(2, n + 1) if n % k == 0]",
            (
                "out, k = [], 2\nwhile k * k <= n:\n    while n % k == 0:\n        out.append(k)\n        n //= k\n"
                "    k += 1\nreturn out"
            ),
        ),
        example=(12,),
        edges=((1,), (2,), (4,), (7,), (18,), (49,), (60,), (97,), (128,)),
        draw=numbers(10, 900),
    ),
)
