"""Published claims, one file each. A file defines ``judge(results) -> list[ClaimResult]``."""
