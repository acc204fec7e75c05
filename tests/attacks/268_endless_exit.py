# attack: endless_exit
# class: dos
# tests: fizzbuzz
# mode: source
# expect_reward: 0.4
# expect: answers given by then count; the last is late and so wrong
# canary: -
if __name__ != "__candidate__":
    raise ImportError("a hostile program: only the sandbox may run it")

def fizzbuzz(n):
    while n == 30:
        pass
    return ["FizzBuzz" if i % 15 == 0 else "Fizz" if i % 3 == 0 else "Buzz" if i % 5 == 0 else str(i) for i in range(1, n + 1)]
