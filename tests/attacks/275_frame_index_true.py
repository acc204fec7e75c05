# attack: frame_index_true
# class: forge
# tests: fizzbuzz
# mode: source
# expect_reward: 0
# expect: an index is an int, and False is none
# canary: -
if __name__ != "__candidate__":
    raise ImportError("a hostile program: only the sandbox may run it")

import json
import os


def _frame(*frame):
    payload = json.dumps(frame).encode()
    os.write(3, len(payload).to_bytes(4, "little") + payload)


_frame("loaded", 0, None)
_frame("answer", False, ["1"])
os._exit(0)
