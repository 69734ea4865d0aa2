"""`completer` and `python -m completer`. Imports the rest where Ctrl-C is caught already: that takes a while."""

import sys


def main() -> None:
    try:
        from completer.cli import run

        code = run(sys.argv[1:])
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)


if __name__ == "__main__":
    main()
