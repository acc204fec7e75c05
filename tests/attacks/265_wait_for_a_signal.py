# attack: wait_for_a_signal
# class: dos
# tests: fizzbuzz
# mode: source
# expect_reward: 0
# expect: refused at once
# canary: -
if __name__ != "__candidate__":
    raise ImportError("a hostile program: only the sandbox may run it")

import signal


def fizzbuzz(n):
    signal.pause()
