# attack: sleeps
# class: dos
# tests: fizzbuzz
# mode: source
# expect_reward: 1
# expect: honest 1.0: sleeping takes no time
# canary: -
if __name__ != "__candidate__":
    raise ImportError("a hostile program: only the sandbox may run it")

def _good(n):
    return ["FizzBuzz" if i % 15 == 0 else "Fizz" if i % 3 == 0 else "Buzz" if i % 5 == 0 else str(i) for i in range(1, n + 1)]


import time

time.sleep(3600)
fizzbuzz = _good
