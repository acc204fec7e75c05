# attack: constant_total
# class: semantics
# tests: total
# mode: source
# expect_reward: 0.25
# expect: 3 is right twice in four
# canary: -
if __name__ != "__candidate__":
    raise ImportError("a hostile program: only the sandbox may run it")

def total(xs):
    return 3
