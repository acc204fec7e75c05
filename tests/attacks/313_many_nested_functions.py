# attack: many_nested_functions
# class: semantics
# tests: fizzbuzz
# mode: make
# expect_reward: 0
# expect: too many levels: compile error in the child only
# canary: -
SRC = "\n".join(" " * i + f"def f{i}():" for i in range(200)) + "\n" + " " * 200 + "pass\n" + GOOD_SRC
