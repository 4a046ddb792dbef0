"""Sources of observations about a running target, one file each."""
