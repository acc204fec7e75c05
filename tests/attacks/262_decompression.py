# attack: decompression
# class: dos
# tests: fizzbuzz
# mode: source
# expect_reward: 0
# expect: MemoryError
# canary: -
if __name__ != "__candidate__":
    raise ImportError("a hostile program: only the sandbox may run it")

import zlib


def fizzbuzz(n):
    packer = zlib.compressobj(9)
    bomb = b"".join(packer.compress(bytes(1 << 20)) for _ in range(64)) + packer.flush()
    return len(zlib.decompress(zlib.compress(zlib.decompress(bomb) * 64)))
