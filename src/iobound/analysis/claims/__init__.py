"""Published claims, one file each. A file defines ``judge(cells) -> list[ClaimResult]``."""
