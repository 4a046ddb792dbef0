"""Money transferred between few accounts by several workers at once: by strategy, on each database, under each model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from iobound.errors import UsageError, nearest
from iobound.lab import transfers
from iobound.planning import Choice, Question, over_network
from iobound.records import Rounds, TransferCell

TITLE = "transfer(): which strategies keep accounts right under concurrency, and what each costs"
BUDGET_S = 180.0
QUICK_BUDGET_S = 45.0
FACTORS = {"strategies", "databases", "isolation", "models", "connections", "rtt"}

WORKERS = 8
ACROSS_MODELS = ("autocommit", "in-process-lock", "for-update-ordered", "begin-immediate")  # unasked: one of each kind
ONE_MODEL = "threads"  # under which all others are measured unasked
QUICK_DATABASE = "postgresql"  # where a quick run looks at the lock of a process under all models
EXPLORED = ("autocommit", "for-update-ordered")  # of which all schedules are carried out under each model
EXPLORED_QUICKLY = ("postgresql",)
AT = {"serializable-retry": "serializable"}
ALSO_AT = {  # beside the database's usual level, unasked
    ("postgresql", "transaction"): "repeatable read",
    ("mariadb", "transaction"): "snapshot isolation",
}
NOT_UNASKED = {("postgresql", "version-counter-same-transaction"), ("sqlite", "version-counter-same-transaction")}


def plan(choice: Choice) -> Question:
    """Measure the strategies that were asked for, or a selection that tells most; what isn't possible says why."""
    cells = _cells(choice)
    unasked = _cells(Choice(quick=choice.quick, first_available=choice.first_available))  # which the budget is of
    return Question(
        scripts=[
            Rounds(
                experiment="transfer",
                baseline=_baseline(cells).id,
                cells=[*cells],
                rounds=3 if choice.quick else 5,
                budget_s=(QUICK_BUDGET_S if choice.quick else BUDGET_S) * max(1.0, len(cells) / len(unasked)),
            )
        ]
    )


def _cells(choice: Choice) -> list[TransferCell]:
    strategies = _known(choice.strategies, transfers.STRATEGIES, "strategy")
    databases = _known(choice.databases, tuple(transfers.DRIVERS), "database") or list(transfers.DRIVERS)
    models = _known(choice.models, transfers.MODELS, "model")
    every_level = tuple(dict.fromkeys(level for levels in transfers.LEVELS.values() for level in levels))
    levels = _known([level.replace("-", " ") for level in choice.isolation], every_level, "isolation level")
    return [
        _cell(choice, database, level, model, strategy, workers, rtt_ms)
        for database in databases
        for strategy in strategies or transfers.STRATEGIES
        for model in models or _models(database, strategy, bool(strategies), choice.quick)
        for level in _levels(database, strategy, levels, bool(strategies or models))
        for workers in choice.connections or [WORKERS]
        for rtt_ms in (choice.rtt if over_network(database) and choice.rtt else [0.0])
        if strategies or levels or (database, strategy) not in NOT_UNASKED
    ]


def _known(asked: Sequence[str], known: Sequence[str], what: str) -> list[str]:
    for name in asked:
        if name not in known:
            raise UsageError(nearest(name, list(known), what))
    return list(asked)


def _models(database: str, strategy: str, asked: bool, quick: bool) -> Iterator[str]:
    """Yield the models to measure a strategy under: all that there are where it was asked for."""
    if asked:
        yield from transfers.MODELS
        return
    across: Sequence[str] = transfers.MODELS if strategy in ACROSS_MODELS else [ONE_MODEL]
    if strategy == "in-process-lock" and quick and database != QUICK_DATABASE:
        across = [ONE_MODEL, "processes"]
    elif strategy == "shared-connection":
        across = [ONE_MODEL, "asyncio"]
    yield from (model for model in across if model == ONE_MODEL or not _without(database, model, strategy))


def _without(database: str, model: str, strategy: str) -> bool:
    return transfers.impossible(database, transfers.LEVELS[database][0], model, strategy) is not None


def _levels(database: str, strategy: str, levels: Sequence[str], asked: bool) -> Iterator[str]:
    """Yield the isolation levels to measure a strategy at; that of single statements is the database's usual one."""
    usual = transfers.LEVELS[database][0]
    if strategy in AT:
        yield AT[strategy]
    elif strategy in transfers.WITHOUT_TRANSACTION or not levels:
        yield usual
        if (database, strategy) in ALSO_AT and not asked:
            yield ALSO_AT[database, strategy]
    else:
        yield from levels


def _cell(choice: Choice, database: str, level: str, model: str, strategy: str, workers: int, rtt_ms: float) -> TransferCell:
    varied = [f"{workers}-workers"] if choice.connections else []
    varied += [f"rtt{rtt_ms:g}ms"] if rtt_ms else []
    return TransferCell(
        id="/".join(["transfer", database, level.replace(" ", "-"), model, strategy, *varied]),
        service=database,
        rtt_ms=rtt_ms,
        isolation=level,
        model=model,
        strategy=strategy,
        driver=transfers.DRIVERS[database].get(model),
        workers=workers,
        seconds=0.25 if choice.quick else 0.5,
        explored=strategy in EXPLORED
        and database in (EXPLORED_QUICKLY if choice.quick else transfers.EXPLORED_DRIVERS)
        and level != "snapshot isolation",  # which `iobound.race` doesn't set
    )


def _baseline(cells: Sequence[TransferCell]) -> TransferCell:
    """Return the cell to measure twice: one that is right by its design, else any."""
    for strategy in ("for-update-ordered", "begin-immediate", "atomic-update"):
        for cell in cells:
            if cell.strategy == strategy and not _without(cell.service or "", cell.model, strategy):
                return cell
    return cells[0]
