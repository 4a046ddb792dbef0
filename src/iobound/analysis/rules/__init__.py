"""Findings, one file a rule. A file defines ``ID`` and ``judge(cells, ratios, controls) -> Finding``."""
