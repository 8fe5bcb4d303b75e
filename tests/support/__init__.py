"""Helpers that several tests share: builders of rows and files, servers, processes and reference models."""
