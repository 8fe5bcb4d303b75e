"""Alerts: what somebody wants to be told of a source, judged as its events come, told once, and remembered why."""

from tarantula.streams.alerts.judging import judge, judge_all, judge_silence
from tarantula.streams.alerts.replaying import dry_run
from tarantula.streams.alerts.telling import tell

__all__ = ["dry_run", "judge", "judge_all", "judge_silence", "tell"]
