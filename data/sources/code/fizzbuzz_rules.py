"""FizzBuzz turned round: rules as data, what is left over, and where a list of words was said."""

from __future__ import annotations

from learnable.data.sources.code.inputs import mapped, numbers, together
from learnable.data.sources.code.problem import CodeProblem

PAIRS = ((3, 5), (2, 7), (4, 6), (3, 4), (6, 9))
ONE_TO_FORTY = tuple((n,) for n in (1, 2, 3, 4, 5, 6, 7, 12, 14, 15, 16, 18, 20, 28, 36))

FIZZBUZZ_RULES = (
    CodeProblem(
        form="FizzBuzzPlain",
        names=("nth_plain", "plain_number", "find_plain"),
        signature="n",
        statement="returns the n-th whole number, counting from 1, that is divisible neither by {0} nor by {1}",
        level=6.5,
        solutions=(
            """
            number = 0
            while n > 0:
                number += 1
                if number % {0} and number % {1}:
                    n -= 1
            return number
            """,
            """
            period = {0} * {1}
            plain = [i for i in range(1, period + 1) if i % {0} != 0 and i % {1} != 0]
            rounds, place = divmod(n - 1, len(plain))
            return rounds * period + plain[place]
            """,
        ),
        wrong=(
            "return [i for i in range(10 * n + 10) if i % {0} and i % {1}][n]",
            "return [i for i in range(10 * n + 10) if i % {0} or i % {1}][n - 1]",
            "return [i for i in range(10 * n + 10) if i % {0}][n - 1]",
        ),
        example=(3,),
        edges=((1,), (2,), (4,), (5,), (8,), (16,), (40,)),
        draw=numbers(9, 200),
        parameters=PAIRS,
    ),
    CodeProblem(
        form="FizzBuzzRules",
        names=("apply_rules", "say_rules", "words_for"),
        signature="n, rules",
        statement="takes a number n and a list of rules, each a list of a divisor and a word. It returns, joined, the "
        "words of the rules whose divisor divides n, smallest divisor first, or n as a string where no rule fits",
        level=7.0,
        solutions=(
            """
            fitting = sorted((divisor, word) for divisor, word in rules if n % divisor == 0)
            return "".join(word for _, word in fitting) or str(n)
            """,
            """
            out = ""
            for divisor, word in sorted(rules, key=lambda rule: rule[0]):
                if n % divisor == 0:
                    out = out + word
            return out if out else str(n)
            """,
        ),
        wrong=(
            'return "".join(word for divisor, word in rules if n % divisor == 0) or str(n)',
            """
            for divisor, word in sorted(rules):
                if n % divisor == 0:
                    return word
            return str(n)
            """,
        ),
        example=(9, [[3, "Fizz"], [5, "Buzz"]]),
        edges=(
            (15, [[3, "Fizz"], [5, "Buzz"]]),
            (15, [[5, "Buzz"], [3, "Fizz"]]),
            (7, []),
            (7, [[2, "Two"]]),
            (12, [[4, "Four"], [6, "Six"], [3, "Three"], [5, "Five"]]),
            (1, [[1, "All"]]),
        ),
        draw=together(
            numbers(1, 60),
            mapped(numbers(2, 9, 2), lambda a, b: [[b + 5, "Jazz"], [a, "Fizz"], [a + 1, "Buzz"]]),
        ),
    ),
    CodeProblem(
        form="FizzBuzzInverse",
        names=("inverse_fizzbuzz", "find_range", "shortest_range"),
        signature="words",
        statement="takes a non-empty list of the words 'Fizz', 'Buzz' and 'FizzBuzz', said for the numbers divisible "
        "by 3, by 5 and by both, while other numbers are silent. It returns [first, last] for the shortest run of "
        "numbers from 1 to 100 that says just these words, the earliest where several are as short, or [] where none "
        "does",
        level=9.0,
        solutions=(
            """
            best = []
            for first in range(1, 101):
                said = []
                for last in range(first, 101):
                    word = "Fizz" * (last % 3 == 0) + "Buzz" * (last % 5 == 0)
                    if word:
                        said.append(word)
                    if said == words:
                        if not best or last - first < best[1] - best[0]:
                            best = [first, last]
                        break
            return best
            """,
            """
            spoken = [(i, "Fizz" * (i % 3 == 0) + "Buzz" * (i % 5 == 0)) for i in range(1, 101)]
            spoken = [(i, word) for i, word in spoken if word]
            found = []
            for start in range(len(spoken) - len(words) + 1):
                part = spoken[start:start + len(words)]
                if [word for _, word in part] == words:
                    found.append((part[-1][0] - part[0][0], part[0][0], part[-1][0]))
            return list(min(found)[1:]) if found else []
            """,
        ),
        wrong=(
            """
            for first in range(1, 101):
                said = []
                for last in range(first, 101):
                    word = "Fizz" * (last % 3 == 0) + "Buzz" * (last % 5 == 0)
                    if word:
                        said.append(word)
                    if said == words:
                        return [first, last]
            return []
            """,
            """
            spoken = [(i, "Fizz" * (i % 3 == 0) + "Buzz" * (i % 5 == 0)) for i in range(1, 101)]
            spoken = [(i, word) for i, word in spoken if word]
            for start in range(len(spoken) - len(words) + 1):
                part = spoken[start:start + len(words)]
                if [word for _, word in part] == words:
                    return [part[0][0], part[-1][0]]
            return []
            """,
        ),
        example=(["Buzz"],),
        edges=(
            (["Fizz"],),
            (["Fizz", "Buzz"],),
            (["Fizz", "Fizz"],),
            (["Buzz", "Fizz"],),
            (["FizzBuzz"],),
            (["Buzz", "Buzz"],),
            (["FizzBuzz", "Fizz", "Buzz", "Fizz", "Fizz"],),
            (["Fizz", "Fizz", "Buzz"],),
        ),
        draw=mapped(
            numbers(1, 60, 2),
            lambda start, more: (
                [
                    "Fizz" * (i % 3 == 0) + "Buzz" * (i % 5 == 0)
                    for i in range(start, start + 2 + more % 12)
                    if i % 3 == 0 or i % 5 == 0
                ]
                or ["FizzBuzz", "Buzz"]
            ),
        ),
    ),
)
