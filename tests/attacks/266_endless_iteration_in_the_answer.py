# attack: endless_iteration_in_the_answer
# class: dos
# tests: fizzbuzz
# mode: source
# expect_reward: 0
# expect: killed at the limit, in the child
# canary: -
if __name__ != "__candidate__":
    raise ImportError("a hostile program: only the sandbox may run it")

class Endless(set):
    def __iter__(self):
        while True:
            yield 1


def fizzbuzz(n):
    return Endless()
