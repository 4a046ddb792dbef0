"""Findings, one file a rule: it defines ``judge(results) -> Finding``, whose `rule` is the name of the file with hyphens."""
