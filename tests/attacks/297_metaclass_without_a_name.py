# attack: metaclass_without_a_name
# class: semantics
# tests: fizzbuzz
# mode: source
# expect_reward: 0
# expect: an exception whose type lies about its name
# canary: -
if __name__ != "__candidate__":
    raise ImportError("a hostile program: only the sandbox may run it")

class Liar(type):
    @property
    def __name__(cls):
        raise SystemExit


class Odd(Exception, metaclass=Liar):
    pass


def fizzbuzz(n):
    raise Odd
