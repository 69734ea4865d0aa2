"""`python -m completer`: the same as the `completer` command."""

from completer.cli import main

main()
