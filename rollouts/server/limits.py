"""How many requests a server is sent at once: more while it answers faster for it, half as many where it refuses."""

from __future__ import annotations

FIRST = 32  # requests: what any server takes
FEWEST = 24  # requests that a limit is judged by
MANY_FAILURES = 0.1  # of requests; these were chosen on the simulated servers of tests/rollouts/server/test_limits
FEW_FAILURES = 0.05
GAIN = 0.3  # of what a server that is not busy yet would gain
NEAR = 7 / 8  # of a limit at which a server refused
RESTING = 3  # limits' worth of answers before the next try at a server that is full
RESTING_LONG = 8  # and at one that refused
TRIES = 2  # at doubling: a machine that does something else for a while is no full server


class ConcurrencyLimit:
    """How many requests one server is sent at once: at most `most`. Times are monotonic, in seconds.

    It doubles, later grows by an eighth, as long as the server answers faster for it: by Little's law its speed is
    the limit over the seconds that a token takes. Where it does not, the step is taken back. A refusal (status 429 or
    503), or a tenth of failures of any kind, halves it (AIMD: Chiu and Jain 1989; it doubles as TCP's slow start does,
    and comes back to where it was refused by halves of the way, as in BIC: Xu, Harfoush and Rhee 2004). One judgement
    rests on as many answers as the limit, sent since it changed: what was sent together counts once.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.value = min(FIRST, most)
        self._tries = TRIES  # at doubling that are left
        self._lower: tuple[int, float] | None = None  # the limit before the last step, and the speed then
        self._refused_at = 0
        self._rests = 0
        self._start(float("-inf"))

    def note_sent(self, under_way: int) -> None:
        """Take note of a request, so many of which are now under way: a limit that is not reached says nothing."""
        self._sent += 1
        self._is_reached |= under_way >= self.value

    def note_answer(self, sent_at: float, now: float, tokens: int) -> None:
        """Take note of an answer of so many tokens."""
        if sent_at >= self._since:
            self._answers += 1
            self._seconds += now - sent_at
            self._tokens += max(tokens, 1)
            self._judge(now)

    def note_failure(self, sent_at: float, now: float, *, is_refusal: bool) -> None:
        """Take note of a request that was not answered."""
        if sent_at < self._since:
            return
        self._failures += 1
        if is_refusal:
            self._halve(now)
        else:
            self._judge(now)

    def _judge(self, now: float) -> None:
        """Judge by as many answers as the limit, and by what was sent meanwhile: failures come back first."""
        wanted = max(self.value, FEWEST)
        sent = max(self._sent, wanted)
        many = MANY_FAILURES * sent
        if self._failures >= many + 2 * many**0.5:  # surely: two standard deviations of a Poisson count
            self._halve(now)
        elif self._answers >= wanted:
            if self._is_reached and self._failures <= FEW_FAILURES * sent + 1:
                self._climb()
            self._start(now)

    def _climb(self) -> None:
        """Go on where the last step made the server faster, and take the step back where it did not."""
        speed = self.value * self._tokens / max(self._seconds, 1e-9)
        if self._rests:
            self._rests -= 1
        elif self._refused_at:
            self._come_back()
        elif self._lower and speed < self._lower[1] * (1 + GAIN * (self.value / self._lower[0] - 1)):
            self.value, self._lower = self._lower[0], None
            self._tries, self._rests = self._tries - 1, RESTING
        else:
            self._lower = (self.value, speed)
            step = self.value if self._tries > 0 else max(self.value // 8, 1)
            self.value = min(self.value + step, self.most)

    def _come_back(self) -> None:
        """Go half of the way to where the server refused; once near, stay for a while before trying more."""
        self.value = max((self.value + self._refused_at) // 2, self.value)
        if self.value >= NEAR * self._refused_at - 1:
            self._refused_at, self._rests = 0, RESTING_LONG * self.value // max(self.value, FEWEST)

    def _halve(self, now: float) -> None:
        self._refused_at = self.value
        self.value = max(self.value // 2, 1)
        self._tries, self._lower, self._rests = 0, None, 0
        self._start(now)

    def _start(self, now: float) -> None:
        """Count anew: what was sent before `now` was sent under another limit."""
        self._since = now
        self._sent = self._answers = self._failures = self._tokens = 0
        self._seconds = 0.0
        self._is_reached = False
