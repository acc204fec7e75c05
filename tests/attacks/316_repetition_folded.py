# attack: repetition_folded
# class: semantics
# tests: fizzbuzz
# mode: make
# expect_reward: 0
# expect: MemoryError in the child only
# canary: -
SRC = "x = 'a' * (1 << 40)\n" + GOOD_SRC
