# attack: large_literal
# class: semantics
# tests: fizzbuzz
# mode: make
# expect_reward: 0
# expect: a literal with too many digits: compile error
# canary: -
SRC = "x = 1" + "0" * 200_000 + "\n" + GOOD_SRC
