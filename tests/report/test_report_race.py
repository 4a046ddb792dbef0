from iobound.records.race import Execution, Level, Outcome, Report, Step, Subject, Violation
from iobound.report import race


def step(session, index, sql, **more):
    return Step(session=session, index=index, kind="statement", sql=sql, connection=session, **more)


def report():
    steps = [
        step(0, 0, "SELECT v FROM t WHERE a < 1", columns=["v"], rows=[["<b>"]], answered=1, source="shop.py:7"),
        step(1, 0, "UPDATE t SET v = 1", affected=1, answered=2),
        step(0, 1, "UPDATE t SET v = 2", affected=1, blocked=True, blocked_by=[1], answered=4),
        step(1, 1, "COMMIT", answered=4),
    ]
    outcomes = [Outcome(session=0, ending="committed", returned=True), Outcome(session=1, ending="committed")]
    execution = Execution(schedule=[0, 1, 0, 1], steps=steps, outcomes=outcomes, state={"t": [["v"], ["2"]]})
    violation = Violation(execution=execution, reason="the invariant doesn't hold", anomaly="P4 (lost update)", stale=0)
    level = Level(
        isolation=None,
        verdict="violated",
        schedules=6,
        exhaustive=True,
        violations=2,
        anomaly="P4 (lost update)",
        example=violation,
    )
    subject = Subject(
        function="shop.py:buy", calls=["buy(1)", "buy(2)"], model="threads", database="postgresql", server="postgresql 18"
    )
    return Report(subject=subject, verdict="violated", levels=[level])


def test_the_schedule_has_a_row_for_each_step_and_each_late_answer():
    numbers = [(number, shown.sql, answered) for number, shown, answered in race.rows(report().levels[0].example.execution)]
    assert numbers == [
        (1, "SELECT v FROM t WHERE a < 1", True),
        (2, "UPDATE t SET v = 1", True),
        (3, "UPDATE t SET v = 2", False),
        (4, "COMMIT", True),
        (None, "UPDATE t SET v = 2", True),
    ]


def test_the_page_says_all_and_escapes_it():
    page = race.render(report())
    for text in ("P4 (lost update)", "stale read", "waits for B", "shop.py:7", "goes on", "1 row changed", "6, exhaustive"):
        assert text in page
    assert "a &lt; 1" in page
    assert "<b>)" not in page
    assert "<script" not in page


def test_a_report_without_violation():
    level = Level(isolation="serializable", verdict="holds", schedules=24, exhaustive=True, violations=0)
    subject = report().subject
    page = race.render(Report(subject=subject, verdict="holds", levels=[level]))
    assert "holds" in page
    assert "The schedule with" not in page
