# attack: factorial
# class: dos
# tests: fizzbuzz
# mode: source
# expect_reward: 0
# expect: killed at the limit
# canary: -
if __name__ != "__candidate__":
    raise ImportError("a hostile program: only the sandbox may run it")

import math


def fizzbuzz(n):
    return math.factorial(10**9)
