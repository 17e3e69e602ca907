"""README's Python blocks as one module, for a type checker: `python -m tests.typing.readme > blocks.py`."""

from __future__ import annotations

import sys

from tests.test_readme import fenced


def main() -> None:
    """Print the blocks, in order."""
    sys.stdout.write("\n".join(fenced("python")))


if __name__ == "__main__":
    main()
