"""Alerts: conditions on a source, judged when events are stored, notified once, with the reasons."""

from tarantula.streams.alerts.judgement import judge, judge_all, judge_silence
from tarantula.streams.alerts.notifications import send_notifications
from tarantula.streams.alerts.replay import dry_run

__all__ = ["dry_run", "judge", "judge_all", "judge_silence", "send_notifications"]
