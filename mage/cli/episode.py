"""The story that `mage demo` tells: three purchases that depend on each other, and one mistake.

Written for this demo; the shop and its goods do not exist.
"""

from __future__ import annotations

from typing import Final, TypeAlias, final

import attrs

from mage.engine import Compress, Failed, Grow, Instruct, Passed, Revise, Verdict

__all__ = ["EPISODE", "TASK", "Beat"]

Move: TypeAlias = Instruct | Grow | Compress | Verdict | Revise


@final
@attrs.frozen
class Beat:
    """One thing that happens, and what a narrator says of it."""

    told: str
    move: Move


TASK: Final = (
    "Furnish a study: buy a desk, then a chair, then a lamp, one of each, for at most $700 in all."
    " What was bought before decides what fits: follow the notes that come with each product."
)

_DESKS = """3 results for "oak desk 120 cm"
1. D-2041 Halden desk, solid oak, 120 x 60 cm, cable tray, $310, 4.6 of 5 (212 reviews)
2. D-2077 Halden desk, oak veneer, 140 x 70 cm, $265, 3.9 of 5 (88 reviews)
3. D-1902 Brink desk, painted pine, 120 x 60 cm, white, $189, 4.1 of 5 (530 reviews)"""
_DESK = """D-2041 Halden desk. Solid oak, oiled. 120 x 60 x 74 cm, 31 kg. Cable tray under the rear edge.
Delivered in two boxes, about 40 minutes to put together. In stock: 7. Price: $310. [Buy Now]"""
_CHROME_CHAIRS = """2 results for "chrome swivel chair"
1. C-1180 Orbit swivel chair, chrome frame, black mesh, five castors, $129, 4.4 of 5 (1,034 reviews)
2. C-1181 Orbit swivel chair, chrome frame, grey mesh, headrest, $159, 4.2 of 5 (301 reviews)"""
_CHROME_CHAIR = """C-1180 Orbit swivel chair. Chrome frame, black mesh back, seat height 44 to 54 cm, 12 kg.
For hard floors. In stock: 41. Price: $129. [Buy Now]"""
_LINEN_CHAIRS = """2 results for "linen desk chair"
1. C-2210 Sund desk chair, linen seat, beech legs, $175, 4.5 of 5 (146 reviews)
2. C-2214 Sund desk chair, linen seat and back, oak legs, $198, 4.7 of 5 (97 reviews)"""
_LINEN_CHAIR = """C-2214 Sund desk chair. Natural linen, oak legs, seat height 46 cm, 9 kg. Cover can be washed.
In stock: 5. Price: $198. [Buy Now]"""
_LAMPS = """3 results for "desk lamp brass linen shade"
1. L-0310 Fyr desk lamp, brass stem, linen shade, $84, 4.8 of 5 (77 reviews)
2. L-0342 Fyr floor lamp, brass stem, linen shade, $139, 4.6 of 5 (59 reviews)
3. L-0207 Bolt desk lamp, chrome arm, $39, 4.3 of 5 (870 reviews)"""
_LAMP = """L-0310 Fyr desk lamp. Brushed brass stem, linen shade, 42 cm, E14 bulb not included. In stock: 12.
Price: $84. [Buy Now]"""

EPISODE: Final[tuple[Beat, ...]] = (
    Beat("The first subtask.", Instruct("Product 1: an oak desk, 120 cm, solid wood.")),
    Beat(
        "The agent acts; every action and what came back is a step.", Grow("search[oak desk 120 cm]", _DESKS)
    ),
    Beat("", Grow("open[D-2041]", _DESK)),
    Beat("", Grow("buy[D-2041]", "Bought D-2041 for $310. Spent so far: $310.")),
    Beat(
        "The subgoal is done: Compress puts a summary in place of its steps.",
        Compress("Product 1 purchased: D-2041 Halden desk, solid oak, 120 cm, $310. Spent $310 of $700."),
    ),
    Beat("Maintain: a judge compares the summary with the steps. It passes.", Passed()),
    Beat(
        "The second subtask brings a note about what fits.",
        Instruct(
            "Product 2: a desk chair. Oak pairs well with linen. Oak avoids chrome. Check every option."
        ),
    ),
    Beat("", Grow("search[chrome swivel chair]", _CHROME_CHAIRS)),
    Beat("", Grow("open[C-1180]", _CHROME_CHAIR)),
    Beat(
        "The mistake: the cheapest chair is bought.",
        Grow("buy[C-1180]", "Bought C-1180 for $129. Spent so far: $439."),
    ),
    Beat("", Compress("Product 2 purchased: C-1180 Orbit chair, chrome, $129. Spent $439 of $700.")),
    Beat(
        "The judge reads the steps against the task, and fails it.",
        Failed(
            "The desk is oak and oak avoids chrome, so C-1180 does not fit. The linen chairs were never looked at."
        ),
    ),
    Beat(
        "Revise: back to the boundary before the chair. The wrong branch stays in the tree, out of sight,"
        " and the lesson stands where it is needed.",
        Revise(
            3, "C-1180 was the wrong chair: the desk is oak and oak avoids chrome. Look at the linen chairs."
        ),
    ),
    Beat(
        "What was asked for is asked for again.",
        Instruct(
            "Product 2: a desk chair. Oak pairs well with linen. Oak avoids chrome. Check every option."
        ),
    ),
    Beat("A new branch, knowing better.", Grow("search[linen desk chair]", _LINEN_CHAIRS)),
    Beat("", Grow("open[C-2214]", _LINEN_CHAIR)),
    Beat(
        "",
        Grow(
            "return[C-1180] then buy[C-2214]", "Returned C-1180. Bought C-2214 for $198. Spent so far: $508."
        ),
    ),
    Beat("", Compress("Product 2 purchased: C-2214 Sund chair, linen, oak legs, $198. Spent $508 of $700.")),
    Beat("It passes.", Passed()),
    Beat("", Instruct("Product 3: a desk lamp. Linen pairs well with brass.")),
    Beat("", Grow("search[desk lamp brass linen shade]", _LAMPS)),
    Beat("", Grow("open[L-0310]", _LAMP)),
    Beat("", Grow("buy[L-0310]", "Bought L-0310 for $84. Spent so far: $592.")),
    Beat(
        "",
        Compress("Product 3 purchased: L-0310 Fyr desk lamp, brass, linen shade, $84. Spent $592 of $700."),
    ),
    Beat("It passes: the study is furnished, within budget, and everything fits.", Passed()),
)
