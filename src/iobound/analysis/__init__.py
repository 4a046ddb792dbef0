"""Pure functions of records: statistics, laws, what bound a cell, findings and claims. No clock, no process, no I/O."""
