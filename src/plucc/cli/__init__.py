"""The `plucc` command: one file a command group; each parses, calls one function, and prints."""
