"""The questions, one file each: what is compared, on which workloads, and which published claims it tests."""
