"""When and where a flow runs, if not at once and here."""

from __future__ import annotations

from dataclasses import dataclass

from learnable.data.errors import LearnableError


@dataclass(frozen=True, slots=True)
class Timetable:
    """When a flow runs: at the times of a cron expression, in UTC, or every so many seconds; and where.

    Workers of the `work_pool` run it, this process where there is none. With one, there may be no times: runs start
    when somebody asks for one or, where `on_published`, when the set has a new version. Raises
    `LearnableError` for times that mean nothing.
    """

    cron: str | None = None
    every: float | None = None
    work_pool: str | None = None
    on_published: bool = False

    def __post_init__(self) -> None:
        self._check_pool()
        if (self.cron is None) == (self.every is None) and not (self.work_pool and self.cron is None):
            raise LearnableError("`cron` and `every` are two ways to say when: give one of them")
        if self.every is not None and self.every < 1:
            raise LearnableError(f"`every` {self.every:g} is too often: give seconds, 1 or more")
        if self.cron is not None:
            self._check_cron(self.cron)

    def __str__(self) -> str:
        return f"at {self.cron!r} (UTC)" if self.every is None else f"every {self.every:g} s"

    def _check_pool(self) -> None:
        if self.work_pool is None and self.on_published:
            raise LearnableError("`on_published` is for runs of a work pool: give `work_pool` too")
        if self.work_pool is not None and not self.work_pool.strip():
            raise LearnableError("`work_pool` '' names nothing: give the name of a work pool, such as gpu")

    def _check_cron(self, cron: str) -> None:
        from prefect.client.schemas.schedules import CronSchedule

        try:
            CronSchedule(cron=cron)
        except ValueError as error:
            raise LearnableError(
                f"`cron` {cron!r} is no cron expression: give minute, hour, day, month and weekday, such as '0 3 * * *'"
            ) from error

    def refuse_own_versions(self, what: str) -> None:
        """Raise `LearnableError` where `what` is to start on versions that it publishes itself, without end."""
        if self.on_published:
            raise LearnableError(f"`on_published` is for training: {what} publishes versions, and would start itself")
