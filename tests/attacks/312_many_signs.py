# attack: many_signs
# class: semantics
# tests: fizzbuzz
# mode: make
# expect_reward: 0
# expect: compile error in the child only
# canary: -
SRC = "x = " + "-" * 100_000 + "1\n" + GOOD_SRC
