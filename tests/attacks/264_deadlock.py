# attack: deadlock
# class: dos
# tests: fizzbuzz
# mode: source
# expect_reward: 0
# expect: waiting uses up the processor time: killed at the limit
# canary: -
if __name__ != "__candidate__":
    raise ImportError("a hostile program: only the sandbox may run it")

import threading

lock = threading.Lock()
lock.acquire()


def fizzbuzz(n):
    lock.acquire()
