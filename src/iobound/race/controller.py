"""Carries out one schedule: lets one session at a time take one step, and sees what becomes of it.

A session runs, holds a statement back, has sent one that waits for a lock, waits in Python for another session, or has
ended. The next step is chosen only when no session runs any more. A statement that waits for a lock isn't a choice again: when
it is answered its session goes on to its next statement, in the order of the sessions.
"""

from __future__ import annotations

import gc
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from iobound.race.gate import Gate, Held
from iobound.race.models import Ended, Model
from iobound.race.search import Pending
from iobound.race.wakeup import Wakeup
from iobound.records.race import ABORTS, Ending, Execution, FailureKind, Outcome, SqlFailure, Step, letter

PATIENCE_S = 20.0
STEPS_LIMIT = 200
ABANDON_S = 1.0  # for sessions to end whose connections were ended
ANSWER_S = 0.001  # before the server is asked whether a statement waits
LOOKS = 3  # how often in a row a session is seen to sleep in Python before it is said to wait
LOOK_S = 0.002

SHARED = re.compile(
    r"another (?:operation|command|query) is (?:already )?in progress|is already in progress|Packet sequence number wrong"
    r"|called while another coroutine is already waiting|can only be used in that same thread"
)
"""What drivers say when a connection is used by two at once."""

State = Literal["runs", "holds", "sent", "waits", "ended"]
Choose = Callable[[Pending], int]
"""Chooses among the sessions that hold a statement."""


class Stuck(Exception):
    """An execution in which nothing moves any more, or for too long."""


class Unsupported(Exception):
    """The function does what can't be explored."""


@dataclass
class _Session:
    number: int
    state: State = "runs"
    held: Held | None = None
    in_driver: bool = False
    """Whether it waits, in Python, for a connection that another session uses."""
    steps: list[int] = field(default_factory=list)


@dataclass
class _Draft:
    """A step while it is being taken."""

    step: Step
    held: Held


class Controller:
    """Carries out executions one after another."""

    def __init__(
        self, sessions: int, model: Model, gate: Gate, wakeup: Wakeup, failure: Callable[[str, str], FailureKind]
    ) -> None:
        self._count = sessions
        self._model = model
        self._gate = gate
        self._wakeup = wakeup
        self._failure = failure
        self.depends_on_order = False
        """Whether a session has waited in Python for another one before its first statement."""
        self.waited_in_python = False
        """Whether a session has waited in Python for another one at all."""

    def run(self, choose: Choose, order: Sequence[int]) -> Execution:
        """Carry out one execution, its sessions begun in `order`; those that aren't in it stay out."""
        self._sessions = [_Session(number) for number in range(self._count)]
        self._drafts: list[_Draft] = []
        self._connections: dict[int, int] = {}
        self._owners: dict[int, int] = {}
        self._faults: dict[str, None] = {}
        self._notes: dict[str, None] = {}
        self._kept: list[object] = []
        schedule: list[int] = []
        self._model.reset()
        self._gate.open(False)
        self._gate.opened()  # by others, before
        try:
            for session in self._sessions:
                session.state = "ended"
            for number in order:
                self._model.start(number)
                self._let_run(self._sessions[number])
                self.depends_on_order |= self._sessions[number].state == "waits"
            while pending := self._pending():
                if len(self._drafts) >= STEPS_LIMIT * self._count:
                    raise Stuck(f"more than {STEPS_LIMIT} statements a session")
                chosen = choose(pending)
                schedule.append(chosen)
                self._step(self._sessions[chosen])
                self._wake()
        except Stuck as stuck:
            self._notes[str(stuck)] = None
        outcomes = [self._outcome(self._sessions[number]) for number in sorted(order)]
        if any(session.state != "ended" for session in self._sessions):
            self.abandon()
        self._gate.open(True)
        self._close_transactions()
        return Execution(
            schedule=schedule,
            steps=[_whole(draft) for draft in self._drafts],
            outcomes=outcomes,
            order=list(order),
            faults=list(self._faults),
            notes=list(self._notes),
        )

    def at_will(self, tries: int) -> tuple[int, int]:
        """Let all sessions run at once with nothing held; begin those that raise anew, up to `tries` times.

        Return how many ended well, and how often one was begun anew.
        """
        self._gate.open(True)
        self._model.reset()
        left = dict.fromkeys(range(self._count), tries)
        well = anew = 0
        for number in left:
            self._model.start(number)
        deadline = time.monotonic() + PATIENCE_S
        while left and time.monotonic() < deadline:
            self._wakeup.wait(LOOK_S)
            for number, how in list(self._model.ended.items()):
                del self._model.ended[number]
                if how.raised is not None and left[number]:
                    left[number] -= 1
                    anew += 1
                    self._model.start(number)
                else:
                    well += how.raised is None
                    del left[number]
        self._gate.settle(self._gate.left_open())
        self._quiet()
        return well, anew

    def abandon(self) -> None:
        """End an execution whose schedule can't be followed."""
        self._gate.open(True)
        self._gate.abandon()
        deadline = time.monotonic() + ABANDON_S
        while any(session.state != "ended" for session in self._sessions) and time.monotonic() < deadline:
            self._wakeup.wait(LOOK_S)
            for number in list(self._model.ended):
                self._sessions[number].state = "ended"
        self._quiet()

    # --- choosing -----------------------------------------------------------------------------------------------------

    def _pending(self) -> Pending:
        """Return the statements that are held; where there are none, wait for those that still may come."""
        while True:
            held = {
                each.number: (each.held.kind, each.held.sql) for each in self._sessions if each.held and each.state == "holds"
            }
            if held or all(session.state == "ended" for session in self._sessions):
                return held
            self._unblock()

    def _unblock(self) -> None:
        """No session can be chosen: the server must answer one of those that wait for locks, by a time-out or as a victim."""
        sent = [session for session in self._sessions if session.state == "sent"]
        if not sent:
            waiting = [session for session in self._sessions if session.state == "waits"]
            self._patiently(lambda: any(self._model.moved(session.number) for session in waiting), "sessions wait in Python")
        else:
            self._gate.expire()
            if all(session.state in ("sent", "ended") for session in self._sessions):
                self._close_transactions()
            self._patiently(lambda: any(self._answer(session) for session in sent), "all sessions wait for locks")
        self._wake()

    def _close_transactions(self) -> None:
        """End what sessions have left open that ended; one whose function returned is at fault."""
        left = self._left_open()
        if left:
            gc.collect()  # a connection in the traceback of an error is closed when that goes
            self._quiet()
            left = self._left_open()
        for session, _ in left:
            if not self._model.ended[session].raised:
                self._faults[f"session {letter(session)} leaves a transaction open"] = None
        if left:
            self._gate.settle([connection for _, connection in left])
            self._quiet()

    def _left_open(self) -> list[tuple[int, object]]:
        """Return the transactions that are open, each with its session, of those that have ended."""
        owned = [(self._owners.get(id(connection)), connection) for connection in self._gate.left_open()]
        return [(owner, each) for owner, each in owned if owner is not None and self._sessions[owner].state == "ended"]

    def _patiently(self, ready: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not ready():
            if time.monotonic() > deadline:
                raise Stuck(f"{what}, for {PATIENCE_S:g} s now")
            self._wakeup.wait(LOOK_S)

    def _answer(self, session: _Session) -> bool:
        return session.held is not None and session.held.answer is not None

    # --- one step -----------------------------------------------------------------------------------------------------

    def _step(self, session: _Session) -> None:
        held = session.held
        assert held
        step = Step(
            session=session.number,
            index=len(session.steps),
            kind=held.kind,
            sql=held.sql,
            parameters=held.parameters,
            connection=self._connection(held),
            source=self._model.source(session.number),
        )
        session.steps.append(len(self._drafts))
        self._drafts.append(_Draft(step, held))
        session.state = "sent"
        held.release()
        if self._answered_or_waits(session):
            self._deliver(session)

    def _connection(self, held: Held) -> int:
        """Number the connections as they are used; they are kept, so that no other one is taken for them."""
        key = id(held.connection)
        if key not in self._connections:
            self._connections[key] = len(self._connections)
            self._kept.append(held.connection)
        return self._connections[key]

    def _answered_or_waits(self, session: _Session) -> bool:
        """Return ``True`` when the statement is answered, ``False`` when the server says that it waits for a lock."""
        deadline = time.monotonic() + PATIENCE_S
        pause = ANSWER_S
        while True:
            until = time.monotonic() + pause
            while not self._answer(session) and (left := until - time.monotonic()) > 0:
                self._wakeup.wait(left)
            if self._answer(session):
                return True
            seen = self._drafts[session.steps[-1]].step.blocked
            if self._waits_for_lock(session):
                return not seen and self._ends_deadlock(session)
            if time.monotonic() > deadline:
                raise Stuck(f"a statement takes more than {PATIENCE_S:g} s: {session.held.sql if session.held else ''}")
            pause = min(2 * pause, 0.05)

    def _ends_deadlock(self, session: _Session) -> bool:
        """Wait until the database has looked whether this wait closes a circle; return whether it ended the statement.

        So it's always the last to wait who is the victim, not the one whose timer happens to be the first.
        """
        until = time.monotonic() + self._gate.deadlock_s
        while not self._answer(session) and (left := until - time.monotonic()) > 0:
            self._wakeup.wait(left)
        return self._answer(session)

    def _waits_for_lock(self, session: _Session) -> bool:
        sent = [each for each in self._sessions if each.state == "sent" and each.held]
        waiting = self._gate.waiting([each.held for each in sent if each.held])
        place = sent.index(session)
        if place not in waiting:
            return False
        numbers = {id(each.held.connection): each.number for each in self._sessions if each.held}
        numbers |= {id(self._drafts[each.steps[-1]].held.connection): each.number for each in self._sessions if each.steps}
        draft = self._drafts[session.steps[-1]]
        blockers = {numbers[id(other)] for other in waiting[place] if id(other) in numbers} - {session.number}
        known = sorted(blockers | set(draft.step.blocked_by))
        draft.step = msgspec.structs.replace(draft.step, blocked=True, blocked_by=known)
        return True

    def _deliver(self, session: _Session) -> None:
        """Write down the answer, pass it on and let the session run to its next statement."""
        draft = self._drafts[session.steps[-1]]
        answer = draft.held.answer
        assert answer
        failure = None
        if answer.error:
            failure = SqlFailure(kind=self._failure(*answer.error), code=answer.error[0], message=answer.error[1])
        draft.step = msgspec.structs.replace(
            draft.step,
            columns=answer.columns,
            rows=answer.rows,
            affected=answer.affected,
            failure=failure,
            answered=len(self._drafts),
        )
        session.held = None
        draft.held.deliver()
        self._let_run(session)

    # --- until quiet --------------------------------------------------------------------------------------------------

    def _let_run(self, session: _Session) -> None:
        """Wait until a session that was let go holds its next statement, waits in Python or has ended."""
        session.state = "runs"
        began = time.monotonic()
        asleep = 0
        while session.state == "runs":
            moved = self._wakeup.wait(LOOK_S if asleep or time.monotonic() - began > LOOK_S else LOOK_S / 2)
            self._take_in()
            if session.state != "runs":
                break
            asleep = 0 if moved or not self._model.waits(session.number) else asleep + 1
            if asleep >= LOOKS and not self._gate.busy():
                session.state = "waits"
                self.waited_in_python = True
                session.in_driver = self._model.in_driver(session.number)
                if session.in_driver:
                    self._share(session, [each for each in self._sessions if each.state in ("holds", "sent")])
            elif time.monotonic() - began > PATIENCE_S:
                raise Stuck(f"session {session.number} runs for more than {PATIENCE_S:g} s without a statement or an end")
        self._quiet()

    def _quiet(self) -> None:
        """Wait until ended connections have let go of their locks."""
        while self._wakeup.wait(0) or self._gate.busy():
            if self._gate.busy():
                self._wakeup.wait(LOOK_S)
        self._take_in()

    def _take_in(self) -> None:
        """See which sessions have come to a statement or to their end."""
        for number, how in list(self._model.ended.items()):
            session = self._sessions[number]
            if session.state != "ended" and SHARED.search(how.chain):
                others = [each for each in self._sessions if each.state in ("holds", "sent")]
                self._share(session, others)
                if not others:
                    what = f"session {letter(number)} uses one connection in several tasks or threads at once"
                    self._faults[f"{what}: {how.raised} at {self._place(session)}"] = None
            session.state = "ended"
        self._note_openers()
        for connection in self._gate.shared:
            users = [self._owners.get(id(connection), -1)]
            self._share(self._running(), [session for session in self._sessions if session.number in users])
        if self._gate.shared:
            self._gate.shared.clear()
            raise Stuck("two sessions have written into one connection")
        for held in self._gate.arrivals():
            session = self._whose(held)
            owner = self._owners.get(id(held.connection))
            if held.inside and owner is not None and self._sessions[owner].state != "ended":
                self._share(session, [self._sessions[owner]])
            session.state, session.held = "holds", held
            self._owners[id(held.connection)] = session.number

    def _note_openers(self) -> None:
        """Take those for the users of new connections who opened them, as far as it's clear."""
        opened = self._gate.opened()
        running = self._running()
        if running and not any(session.state == "waits" for session in self._sessions):
            self._owners |= {id(connection): running.number for connection in opened}
            self._kept += opened

    def _whose(self, held: Held) -> _Session:
        """Tell which session a statement comes from: the one that runs, or where several do the last user of its connection."""
        running = [session for session in self._sessions if session.state in ("runs", "waits")]
        owner = self._owners.get(id(held.connection))
        if held.inside and not any(session.in_driver for session in running):
            running = [session for session in running if session.number == owner] or running
        if len(running) > 1:
            running = [each for each in running if each.state == "runs" or self._model.moved(each.number)] or running
        for session in sorted(running, key=lambda each: not each.in_driver):
            if session.number == owner or session.in_driver:
                session.in_driver = False
                return session
        if not running:
            what = f"a session executes two statements at once, from threads or tasks of its own; one is {held.sql!r}"
            raise Stuck(what) if self._faults else Unsupported(what)
        return running[0]

    def _running(self) -> _Session | None:
        return next((session for session in self._sessions if session.state == "runs"), None)

    def _share(self, session: _Session | None, others: Sequence[_Session]) -> None:
        """Note that a session uses the connection of another one, and where both are."""
        for other in others:
            if session is None or other is session:
                continue
            first, second = sorted((session, other), key=lambda each: each.number)
            places = [f"{letter(each.number)} at {self._place(each)}" for each in (first, second)]
            what = f"connection shared by sessions {letter(first.number)} and {letter(second.number)}"
            if not any(fault.startswith(what) for fault in self._faults):
                self._faults[f"{what}: {' and '.join(places)}"] = None

    def _place(self, session: _Session) -> str:
        ended = self._model.ended.get(session.number)
        return (ended.source if ended else self._model.source(session.number)) or "an unknown place"

    def _wake(self) -> None:
        """Let those go on, in their order, whom the last step has freed: from locks of the database and of Python."""
        moved = True
        while moved:
            moved = False
            for session in self._sessions:
                if session.state == "sent" and self._answered_or_waits(session):
                    self._deliver(session)
                    moved = True
                elif session.state == "waits" and self._woken(session):
                    self._let_run(session)
                    moved = True

    def _woken(self, session: _Session) -> bool:
        self._take_in()
        return session.state == "waits" and self._model.moved(session.number)

    def _outcome(self, session: _Session) -> Outcome:
        how = self._model.ended.get(session.number)
        failed = [self._drafts[place].step.failure for place in session.steps]
        aborts = sum(failure is not None and failure.kind in ABORTS for failure in failed)
        if how is None:
            return Outcome(session=session.number, ending="endless", retries=aborts)
        ending: Ending = "committed" if how.raised is None else _ending(how, [failure for failure in failed if failure])
        return Outcome(
            session=session.number,
            ending=ending,
            returned=_plain(how.returned),
            exception=how.raised,
            retries=aborts - (ending in ABORTS),
        )


def _whole(draft: _Draft) -> Step:
    """Return the step with its rows: some drivers fetch them only after the answer."""
    answer = draft.held.answer
    return msgspec.structs.replace(draft.step, rows=answer.rows) if answer else draft.step


def _ending(how: Ended, failed: list[SqlFailure]) -> Ending:
    """Return the class of the answer that made the call raise what it raised."""
    for failure in reversed(failed):
        if failure.message.partition("\n")[0] in how.chain or (failure.code and failure.code in how.chain):
            return failure.kind
    return "error"


def _plain(value: object) -> object:
    """Return `value` as JSON has it, else its ``repr``."""
    try:
        plain: object = msgspec.json.decode(msgspec.json.encode(value))
    except (TypeError, ValueError, msgspec.MsgspecError):
        return repr(value)
    return plain
