# attack: drip
# class: forge
# tests: fizzbuzz
# mode: source
# expect_reward: 0
# expect: a byte at a time lasts no longer than the limit
# canary: -
if __name__ != "__candidate__":
    raise ImportError("a hostile program: only the sandbox may run it")

import os

os.write(3, (1 << 19).to_bytes(4, 'little'))
while True:
    for _ in range(100_000):
        pass
    os.write(3, b' ')
