"""The command line: one file a command. Each parses, composes stages and prints; it has no logic of its own."""
