"""How a cell of each script experiment is measured, one file an experiment: ``measure(cell, turn, laboratory) -> Sample``.

`rounds` calls them. A file has as well ``environments(cell)``: the locked environments (name, interpreter) that the cell needs.
"""
