# attack: many_small_objects
# class: dos
# tests: fizzbuzz
# mode: source
# expect_reward: 0
# expect: MemoryError
# canary: -
if __name__ != "__candidate__":
    raise ImportError("a hostile program: only the sandbox may run it")

def fizzbuzz(n):
    kept = []
    while True:
        kept.append(object())
