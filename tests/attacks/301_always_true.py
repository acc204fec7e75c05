# attack: always_true
# class: semantics
# tests: parens
# mode: source
# expect_reward: 0.25
# expect: true is right twice in four
# canary: -
if __name__ != "__candidate__":
    raise ImportError("a hostile program: only the sandbox may run it")

def balanced(s):
    return True
