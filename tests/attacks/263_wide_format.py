# attack: wide_format
# class: dos
# tests: fizzbuzz
# mode: source
# expect_reward: 0
# expect: MemoryError
# canary: -
if __name__ != "__candidate__":
    raise ImportError("a hostile program: only the sandbox may run it")

def fizzbuzz(n):
    return format(1, f'>{1 << 40}')
