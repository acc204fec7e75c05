# attack: null_in_source
# class: semantics
# tests: fizzbuzz
# mode: make
# expect_reward: 0
# expect: source with a null cannot be compiled
# canary: -
SRC = "x = 1\0\n" + GOOD_SRC
