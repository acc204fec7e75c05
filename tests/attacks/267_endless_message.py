# attack: endless_message
# class: dos
# tests: fizzbuzz
# mode: source
# expect_reward: 0
# expect: killed at the limit, in the child
# canary: -
if __name__ != "__candidate__":
    raise ImportError("a hostile program: only the sandbox may run it")

class Endless(Exception):
    def __str__(self):
        while True:
            pass


raise Endless
