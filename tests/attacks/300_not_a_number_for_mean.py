# attack: not_a_number_for_mean
# class: semantics
# tests: mean
# mode: source
# expect_reward: 0
# expect: nan equals nothing
# canary: -
if __name__ != "__candidate__":
    raise ImportError("a hostile program: only the sandbox may run it")

def mean(xs):
    return float('nan')
