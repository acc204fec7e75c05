# attack: invalid_bytecode
# class: exit
# tests: fizzbuzz
# mode: source
# expect_reward: 0
# expect: a crash in the child only
# canary: -
if __name__ != "__candidate__":
    raise ImportError("a hostile program: only the sandbox may run it")

def fizzbuzz(n):
    code = fizzbuzz.__code__.replace(co_code=bytes([100, 255]) * 50, co_consts=())
    return type(fizzbuzz)(code, {})(n)
