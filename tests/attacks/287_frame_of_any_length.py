# attack: frame_of_any_length
# class: forge
# tests: fizzbuzz
# mode: source
# expect_reward: 0
# expect: no longer than the cap
# canary: -
if __name__ != "__candidate__":
    raise ImportError("a hostile program: only the sandbox may run it")

import os

os.write(3, b'\xff' * 4)
while True:
    pass
