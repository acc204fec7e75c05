# attack: close_and_spin
# class: forge
# tests: fizzbuzz
# mode: source
# expect_reward: 0
# expect: a closed channel ends the child
# canary: -
if __name__ != "__candidate__":
    raise ImportError("a hostile program: only the sandbox may run it")

import os

os.close(3)
while True:
    pass
