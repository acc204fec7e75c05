# attack: many_attributes
# class: semantics
# tests: fizzbuzz
# mode: make
# expect_reward: 0
# expect: compile error or crash in the child only
# canary: -
SRC = "x = a" + ".a" * 50_000 + "\n" + GOOD_SRC
