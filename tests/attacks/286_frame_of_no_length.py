# attack: frame_of_no_length
# class: forge
# tests: fizzbuzz
# mode: source
# expect_reward: 0
# expect: an empty frame is a violation
# canary: -
if __name__ != "__candidate__":
    raise ImportError("a hostile program: only the sandbox may run it")

import os

os.write(3, bytes(4))
