# attack: abort
# class: exit
# tests: fizzbuzz
# mode: source
# expect_reward: 0
# expect: SIGABRT in the child only
# canary: -
if __name__ != "__candidate__":
    raise ImportError("a hostile program: only the sandbox may run it")

import os


def fizzbuzz(n):
    os.abort()
