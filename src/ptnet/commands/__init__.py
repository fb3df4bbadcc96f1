"""The verbs of the command line, a module each with `main(argv) -> exit code`."""
