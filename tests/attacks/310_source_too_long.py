# attack: source_too_long
# class: semantics
# tests: fizzbuzz
# mode: make
# expect_reward: 0
# expect: longer than the cap: refused
# canary: -
SRC = GOOD_SRC + "#" * (300 << 10)
