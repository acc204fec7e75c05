"""Calculations written down: postfix and with parentheses."""

from __future__ import annotations

import random
from typing import Any

from learnable.data.sources.code.inputs import mapped, numbers, texts, together
from learnable.data.sources.code.problem import CodeProblem


def _draw_expression(rng: random.Random) -> list[Any]:
    return [_expression(rng, 3)]


def _expression(rng: random.Random, depth: int) -> str:
    if depth == 0 or rng.random() < 0.25:
        return str(rng.randint(0, 20))
    inner = _expression(rng, depth - 1) + rng.choice("+-*") + _expression(rng, depth - 1)
    return f"({inner})" if rng.random() < 0.5 else inner


# How two of the programs read a number, or what stands in parentheses.
READ_NUMBER = """
            tokens = list(s.replace(" ", "") + "$")
            def number():
                if tokens[0] == "(":
                    tokens.pop(0)
                    value = total()
                    tokens.pop(0)
                    return value
                digits = ""
                while tokens[0].isdigit():
                    digits += tokens.pop(0)
                return int(digits)"""

EXPRESSIONS = (
    CodeProblem(
        form="EvaluatePostfix",
        names=("evaluate_postfix", "rpn", "run_tokens"),
        signature="tokens",
        statement="returns the value of a calculation in postfix notation: a list of strings in which whole numbers "
        "are followed by the '+', '-' or '*' that takes the two values before it",
        level=6.5,
        solutions=(
            """
            values = []
            for token in tokens:
                if token in ("+", "-", "*"):
                    right, left = values.pop(), values.pop()
                    values.append(left + right if token == "+" else left - right if token == "-" else left * right)
                else:
                    values.append(int(token))
            return values[0]
            """,
            """
            def take():
                token = tokens.pop()
                if token not in ("+", "-", "*"):
                    return int(token)
                right = take()
                left = take()
                return {"+": left + right, "-": left - right, "*": left * right}[token]
            return take()
            """,
        ),
        wrong=(
            """
            values = []
            for token in tokens:
                if token in ("+", "-", "*"):
                    left, right = values.pop(), values.pop()
                    values.append(left + right if token == "+" else left - right if token == "-" else left * right)
                else:
                    values.append(int(token))
            return values[0]
            """,
            """
            values = []
            for token in tokens:
                if token.isdigit():
                    values.append(int(token))
                else:
                    right, left = values.pop(), values.pop()
                    values.append(left + right if token == "+" else left - right if token == "-" else left * right)
            return values[0]
            """,
        ),
        example=(["2", "3", "+"],),
        edges=(
            (["7"],),
            (["-4"],),
            (["9", "4", "-"],),
            (["2", "3", "4", "*", "+"],),
            (["5", "1", "2", "+", "4", "*", "+", "3", "-"],),
            (["-2", "3", "*"],),
        ),
        draw=mapped(
            together(numbers(-9, 20, 3), texts("+-*", 2, 2), numbers(0, 1)),
            lambda a, b, c, signs, late: (
                [str(a), str(b), str(c), *signs] if late else [str(a), str(b), signs[0], str(c), signs[1]]
            ),
        ),
    ),
    CodeProblem(
        form="EvaluateExpression",
        names=("evaluate", "calculate", "value_of_text"),
        signature="s",
        statement="returns the value of an expression of whole numbers, +, -, * and parentheses in the string s, "
        "where * binds before + and -",
        level=9.0,
        solutions=(
            READ_NUMBER
            + """
            def product():
                value = number()
                while tokens[0] == "*":
                    tokens.pop(0)
                    value *= number()
                return value
            def total():
                value = product()
                while tokens[0] in "+-":
                    sign = tokens.pop(0)
                    right = product()
                    value = value + right if sign == "+" else value - right
                return value
            return total()
            """,
            r"""
            import re
            output, waiting, rank = [], [], {"+": 1, "-": 1, "*": 2, "(": 0}
            def apply():
                sign, right, left = waiting.pop(), output.pop(), output.pop()
                output.append(left + right if sign == "+" else left - right if sign == "-" else left * right)
            for token in re.findall(r"\d+|[-+*()]", s):
                if token.isdigit():
                    output.append(int(token))
                elif token == "(":
                    waiting.append(token)
                elif token == ")":
                    while waiting[-1] != "(":
                        apply()
                    waiting.pop()
                else:
                    while waiting and rank[waiting[-1]] >= rank[token]:
                        apply()
                    waiting.append(token)
            while waiting:
                apply()
            return output[0]
            """,
        ),
        wrong=(
            r"""
            import re
            tokens = re.findall(r"\d+|[-+*]", s)
            value = int(tokens[0])
            for sign, number in zip(tokens[1::2], tokens[2::2]):
                value = {"+": value + int(number), "-": value - int(number), "*": value * int(number)}[sign]
            return value
            """,
            READ_NUMBER
            + """
            def total():
                value = number()
                if tokens[0] in "+-*":
                    sign = tokens.pop(0)
                    right = total()
                    return {"+": value + right, "-": value - right, "*": value * right}[sign]
                return value
            return total()
            """,
        ),
        example=("1 + 2 * 3",),
        edges=(
            ("7",),
            ("10 - 2 - 3",),
            ("2 * (3 + 4)",),
            ("(1 + 2) * (3 - 5)",),
            ("2*3*4-5",),
            ("((8))",),
            ("100-(20-(3-1))*2",),
        ),
        draw=_draw_expression,
    ),
)
