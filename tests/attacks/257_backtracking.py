# attack: backtracking
# class: dos
# tests: fizzbuzz
# mode: source
# expect_reward: 0
# expect: one long C call: killed at the limit
# canary: -
if __name__ != "__candidate__":
    raise ImportError("a hostile program: only the sandbox may run it")

import re


def fizzbuzz(n):
    return re.match("(a|aa)+$", "a" * 100 + "b")
