"""Tests of streams: values, sources, adapters, picker, ingest, history, alerts and views."""
