"""Benchmarks: `python -m tests.benchmarks [NAME]` prints a table with baseline, subject, ratio and goal."""
