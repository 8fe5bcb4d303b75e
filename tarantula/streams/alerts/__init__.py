"""Alerts: what somebody wants to be told of a source, judged as its events come, told once, and remembered why."""

from tarantula.streams.alerts.judgement import judge, judge_all, judge_silence
from tarantula.streams.alerts.notifications import send_notifications
from tarantula.streams.alerts.replay import dry_run

__all__ = ["dry_run", "judge", "judge_all", "judge_silence", "send_notifications"]
