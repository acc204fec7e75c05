# attack: frame_that_never_ends
# class: forge
# tests: fizzbuzz
# mode: source
# expect_reward: 0
# expect: half a frame, and then killed at the limit
# canary: -
if __name__ != "__candidate__":
    raise ImportError("a hostile program: only the sandbox may run it")

import os

os.write(3, b'\x10\x00\x00\x00[')
while True:
    pass
