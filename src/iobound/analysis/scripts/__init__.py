"""What is made of the samples of each script experiment, one file an experiment.

A file has ``judge(header, rounds, observations) -> Judged`` (see `iobound.analysis.sampled`).
"""
