"""Findings, one file a rule. A file defines ``judge(results) -> Finding``; the finding's `rule` is the file's name with hyphens."""
