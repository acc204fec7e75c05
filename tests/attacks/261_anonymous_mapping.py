# attack: anonymous_mapping
# class: dos
# tests: fizzbuzz
# mode: source
# expect_reward: 0
# expect: no memory beyond the limit
# canary: -
if __name__ != "__candidate__":
    raise ImportError("a hostile program: only the sandbox may run it")

import mmap


def fizzbuzz(n):
    return mmap.mmap(-1, 1 << 33)[:]
