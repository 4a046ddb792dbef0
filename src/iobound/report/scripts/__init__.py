"""The section of each script experiment in the report, one file an experiment (see `sections`)."""
