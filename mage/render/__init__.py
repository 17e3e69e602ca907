"""The execution state S = (C, R, H) as the text that an agent reads; states and trees as drawings, diagrams, JSON and differences.

An agent that bought two products, tried a third, went back, and is two steps into another try is shown:

    Task: Buy a cake mix, a frosting and a topper. Spend at most $60.
    [Step 0] Product 1 purchased: Carrot Cake Mix, $14.99.
    [Step 2] Product 2 purchased: Cream Cheese Frosting, red, $34.27.
    Status: accepted without a verdict
    Instruction: Product 3: the dearest topper that pairs with the frosting.
    open since [Step 3]
    Action: search[gold topper]
    Observation: Two results:
     1. Gold Heart Sprinkles, $14.95
     2. Gold Sugar Crystals, $9.50
    Action: click[1]
    Observation: Gold Heart Sprinkles, in stock
    Hints: what was tried from here before and left, and lessons from what went wrong
    Tried subgoal [Step 3]: Product 3 purchased: Mermaid Sprinkles, silver, $13.95.
    Status: failed, the execution is at fault: Red avoids silver.
    Lesson: Red avoids silver: look for gold.

Only our words stand at the left margin: every line break in content is followed by an indent, so an observation that
spells out `[Step 0] ...` stays inside its observation, and with the caps off the text can be parsed back into all that
was rendered. A grow that adds a step only adds to the end of the text before the hints, so a provider's prefix cache
keeps hitting. (A grow that merges with a step at which an instruction was placed also brings that into force.)
"""

from __future__ import annotations

from mage.engine import ExecutionState
from mage.render.blocks import (
    DEFAULT_CAPS,
    NO_CAPS,
    BadCap,
    Caps,
    Meter,
    body_of,
    hints_of,
    one_line,
    printable,
)
from mage.render.forms import (
    Difference,
    DrawnLine,
    Sides,
    as_dot,
    as_mermaid,
    bars,
    compare_states,
    difference_as_json,
    draw,
    line_as_json,
    state_as_json,
    step_as_json,
    tree_as_json,
)

__all__ = [
    "DEFAULT_CAPS",
    "NO_CAPS",
    "BadCap",
    "Caps",
    "Difference",
    "DrawnLine",
    "Meter",
    "Sides",
    "as_dot",
    "as_mermaid",
    "bars",
    "blocks",
    "compare_states",
    "difference_as_json",
    "draw",
    "line_as_json",
    "one_line",
    "printable",
    "render",
    "render_body",
    "render_hints",
    "state_as_json",
    "step_as_json",
    "tree_as_json",
]


def render(shown: ExecutionState, *, caps: Caps = DEFAULT_CAPS) -> str:
    """Return S as text: the body, then the hints (Section 3.2; D9). Cost: O(size of S)."""
    return "".join(blocks(shown, caps=caps))


def blocks(shown: ExecutionState, *, caps: Caps = DEFAULT_CAPS) -> tuple[str, ...]:
    """Return the blocks that `render` joins; each begins with a letter or `[` and ends in a line feed.

    Cost: O(size of S).
    """
    body = [block.text for block in body_of(shown)]
    body.extend([block.text for block in hints_of(shown.hints, caps)])
    return tuple(body)


def render_body(shown: ExecutionState) -> str:
    """Return S without the hints: task, C, instructions in force and R. A grow that adds a step only adds to its end.

    Cost: O(size of the text).
    """
    return "".join([block.text for block in body_of(shown)])


def render_hints(shown: ExecutionState, *, caps: Caps = DEFAULT_CAPS) -> str:
    """Return the hints alone; the empty text where there are none. Cost: O(number of hints + size of those shown)."""
    return "".join([block.text for block in hints_of(shown.hints, caps)])
