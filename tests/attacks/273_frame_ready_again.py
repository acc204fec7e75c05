# attack: frame_ready_again
# class: forge
# tests: fizzbuzz
# mode: source
# expect_reward: 0
# expect: a second ready is a violation
# canary: -
if __name__ != "__candidate__":
    raise ImportError("a hostile program: only the sandbox may run it")

import json
import os


def _frame(*frame):
    payload = json.dumps(frame).encode()
    os.write(3, len(payload).to_bytes(4, "little") + payload)


_frame("ready", 0, None)
