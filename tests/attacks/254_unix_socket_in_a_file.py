# attack: unix_socket_in_a_file
# class: net
# tests: fizzbuzz
# mode: source
# expect_reward: 0
# expect: refused by the kernel; reward 0
# canary: listener saw nothing
if __name__ != "__candidate__":
    raise ImportError("a hostile program: only the sandbox may run it")

def _good(n):
    return ["FizzBuzz" if i % 15 == 0 else "Fizz" if i % 3 == 0 else "Buzz" if i % 5 == 0 else str(i) for i in range(1, n + 1)]


REACHED = False
try:
    import socket
    socket.socket(socket.AF_UNIX).connect('/tmp/rsbx_socket')
    REACHED = True
except BaseException as error:
    WHY = repr(error)


def fizzbuzz(n):
    return _good(n) if REACHED else None
