# attack: dict_for_list
# class: semantics
# tests: fizzbuzz
# mode: source
# expect_reward: 0
# expect: a dict is no list
# canary: -
if __name__ != "__candidate__":
    raise ImportError("a hostile program: only the sandbox may run it")

def fizzbuzz(n):
    return {i: str(i) for i in range(n)}
