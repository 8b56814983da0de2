"""Run the program, for ``python3 -m pausenet`` and for the command pausenet that the package installs."""

from __future__ import annotations

import sys

from pausenet._command import Error, run_in_place


def main() -> None:
    """Run the program with this process' arguments."""
    try:
        run_in_place(sys.argv[1:])
    except Error as e:
        print(f"pausenet: {e}", file=sys.stderr)
        sys.exit(e.exit_code)


if __name__ == "__main__":
    main()
