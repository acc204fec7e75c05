# attack: frame_loaded_first
# class: forge
# tests: fizzbuzz
# mode: source
# expect_reward: 0
# expect: answers nobody knows are wrong
# canary: -
if __name__ != "__candidate__":
    raise ImportError("a hostile program: only the sandbox may run it")

import json
import os


def _frame(*frame):
    payload = json.dumps(frame).encode()
    os.write(3, len(payload).to_bytes(4, "little") + payload)


_frame("loaded", 0, None)
for index in range(5):
    _frame("answer", index, [])
os._exit(0)
