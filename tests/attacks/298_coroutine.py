# attack: coroutine
# class: semantics
# tests: fizzbuzz
# mode: source
# expect_reward: 0
# expect: a coroutine is no list
# canary: -
if __name__ != "__candidate__":
    raise ImportError("a hostile program: only the sandbox may run it")

async def fizzbuzz(n):
    return []
