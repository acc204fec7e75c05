# attack: stop_the_timer
# class: dos
# tests: fizzbuzz
# mode: source
# expect_reward: 0
# expect: the timer cannot be set again: killed at the limit
# canary: -
if __name__ != "__candidate__":
    raise ImportError("a hostile program: only the sandbox may run it")

import signal

for which in (signal.ITIMER_PROF, signal.ITIMER_REAL, signal.ITIMER_VIRTUAL):
    try:
        signal.setitimer(which, 0)
    except OSError:
        pass
while True:
    pass
