# attack: long_sum
# class: dos
# tests: fizzbuzz
# mode: source
# expect_reward: 0
# expect: killed at the limit
# canary: -
if __name__ != "__candidate__":
    raise ImportError("a hostile program: only the sandbox may run it")

def fizzbuzz(n):
    return sum(range(10**13))
