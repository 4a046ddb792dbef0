"""JUnit's XML, which continuous integration shows: a test case for each isolation level."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from iobound.race import terminal
from iobound.records.race import Level, Report

NOT_IN_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(report: Report) -> str:
    """Return one suite: violated levels have failed, levels without a verdict are errors."""
    levels = report.levels
    suite = ElementTree.Element(
        "testsuite",
        name="iobound race",
        tests=str(len(levels)),
        failures=str(sum(level.verdict == "violated" for level in levels)),
        errors=str(sum(level.verdict in ("incomplete", "unsupported") for level in levels)),
        time=f"{sum(level.seconds for level in levels):.3f}",
    )
    for level in levels:
        suite.append(_case(report, level))
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _case(report: Report, level: Level) -> ElementTree.Element:
    subject = report.subject
    name = f"{', '.join(subject.calls)} at {level.isolation or 'the default level'}"
    case = ElementTree.Element("testcase", classname=subject.function, name=_clean(name), time=f"{level.seconds:.3f}")
    if level.verdict != "holds":
        kind = "failure" if level.verdict == "violated" else "error"
        message = level.example.reason if level.example else level.reason or level.verdict
        found = ElementTree.SubElement(case, kind, type=level.anomaly or level.verdict, message=_clean(message))
        found.text = _clean(terminal.text(Report(subject=subject, verdict=level.verdict, levels=[level])))
    return case


def _clean(text: str) -> str:
    """Leave out what XML has no place for, such as the zero bytes of a binary value."""
    return NOT_IN_XML.sub("?", text)
