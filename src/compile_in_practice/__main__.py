"""``python -m compile_in_practice`` is the command line."""

import sys

from compile_in_practice.cli import main

if __name__ == "__main__":
    sys.exit(main())
