"""The table of operations and phases in README, generated from the machine's own: `python -m specs.table`."""

from __future__ import annotations

from mage.engine import TRANSITIONS


def table() -> str:
    """Return the table in Markdown: a row an operation, a column a phase."""
    phases = list(dict.fromkeys(row.phase for row in TRANSITIONS))
    rows = ["| operation | " + " | ".join(f"in `{phase}`" for phase in phases) + " | refused with |"]
    rows.append("|---" * (len(phases) + 2) + "|")
    for operation in dict.fromkeys(row.operation for row in TRANSITIONS):
        of_phase = {row.phase: row for row in TRANSITIONS if row.operation == operation}
        cells = [_cell(of_phase[phase].leads_to, of_phase[phase].refuses) for phase in phases]
        refusals = dict.fromkeys(refusal for row in of_phase.values() for refusal in row.refuses)
        rows.append(
            f"| `{operation}` | {' | '.join(cells)} | {', '.join(f'`{each}`' for each in refusals)} |"
        )
    return "\n".join(rows) + "\n"


def _cell(leads_to: tuple[str, ...], refuses: tuple[str, ...]) -> str:
    if leads_to:
        return " or ".join(leads_to)
    return "always refused" if refuses else "illegal"


if __name__ == "__main__":
    print(table(), end="")
