# attack: any_open_descriptor
# class: fs-read
# tests: fizzbuzz
# mode: source
# expect_reward: 0
# expect: no descriptor but the channel and the null device
# canary: -
if __name__ != "__candidate__":
    raise ImportError("a hostile program: only the sandbox may run it")

def _good(n):
    return ["FizzBuzz" if i % 15 == 0 else "Fizz" if i % 3 == 0 else "Buzz" if i % 5 == 0 else str(i) for i in range(1, n + 1)]


REACHED = False
try:
    import os
    found = b''
    for fd in range(4, 4096):
        try:
            found += os.read(fd, 100)
        except OSError:
            continue
    assert found
    REACHED = True
except BaseException as error:
    WHY = repr(error)


def fizzbuzz(n):
    return _good(n) if REACHED else None
