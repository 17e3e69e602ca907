"""What the demo's shop sells, and the words of its story. Written for this; shop and goods do not exist."""

from __future__ import annotations

from typing import Final, final

import attrs

__all__ = ["BUDGET", "FEEDBACK", "GOODS", "KINDS", "SUBTASKS", "TASK", "WRONG_CHAIR", "Product"]

BUDGET: Final = 700
"""Dollars."""
KINDS: Final = ("desk", "chair", "lamp")
"""What is wanted, in this order."""
TASK: Final = (
    f"Furnish a study: buy a desk, then a chair, then a lamp, one of each, for at most ${BUDGET} in all."
    " What was bought before decides what fits: follow the notes that come with each product."
)
SUBTASKS: Final = (
    "Product 1: an oak desk, 120 cm, solid wood.",
    "Product 2: a desk chair. Oak pairs well with linen. Oak avoids chrome. Check every option.",
    "Product 3: a desk lamp. Linen pairs well with brass.",
)
FEEDBACK: Final = (
    "The desk is oak and oak avoids chrome, so {code} does not fit. The linen chairs were never looked at."
)
WRONG_CHAIR: Final = (
    "{code} was the wrong chair: the desk is oak and oak avoids chrome. Look at the linen chairs."
)


@final
@attrs.frozen
class Product:
    """One thing to buy.

    Attributes:
        code: what it is ordered by.
        kind: desk, chair or lamp.
        line: how a search lists it, without the price.
        price: in dollars.
        reviews: what a search says of it, behind the price.
        page: what opening it shows, in two lines without price and button.
        short: what one calls it in a summary.
    """

    code: str
    kind: str
    line: str
    price: int
    reviews: str
    page: str
    short: str

    @property
    def listed(self) -> str:
        """Its line in a list of results."""
        return f"{self.code} {self.line}, ${self.price}, {self.reviews}"

    @property
    def opened(self) -> str:
        """Its page."""
        return f"{self.code} {self.page}Price: ${self.price}. [Buy Now]"


GOODS: Final = (
    Product(
        "D-2041",
        "desk",
        "Halden desk, solid oak, 120 x 60 cm, cable tray",
        310,
        "4.6 of 5 (212 reviews)",
        "Halden desk. Solid oak, oiled. 120 x 60 x 74 cm, 31 kg. Cable tray under the rear edge.\n"
        "Delivered in two boxes, about 40 minutes to put together. In stock: 7. ",
        "Halden desk, solid oak, 120 cm",
    ),
    Product(
        "D-2077",
        "desk",
        "Halden desk, oak veneer, 140 x 70 cm",
        265,
        "3.9 of 5 (88 reviews)",
        "Halden desk. Chipboard with oak veneer. 140 x 70 x 74 cm, 27 kg. In stock: 3.\n",
        "Halden desk, oak veneer, 140 cm",
    ),
    Product(
        "D-1902",
        "desk",
        "Brink desk, painted pine, 120 x 60 cm, white",
        189,
        "4.1 of 5 (530 reviews)",
        "Brink desk. Pine, painted white. 120 x 60 x 73 cm, 22 kg. In stock: 19.\n",
        "Brink desk, painted pine, 120 cm",
    ),
    Product(
        "C-1180",
        "chair",
        "Orbit swivel chair, chrome frame, black mesh, five castors",
        129,
        "4.4 of 5 (1,034 reviews)",
        "Orbit swivel chair. Chrome frame, black mesh back, seat height 44 to 54 cm, 12 kg.\n"
        "For hard floors. In stock: 41. ",
        "Orbit chair, chrome",
    ),
    Product(
        "C-1181",
        "chair",
        "Orbit swivel chair, chrome frame, grey mesh, headrest",
        159,
        "4.2 of 5 (301 reviews)",
        "Orbit swivel chair. Chrome frame, grey mesh back, headrest, 13 kg.\nFor hard floors. In stock: 12. ",
        "Orbit chair, chrome, headrest",
    ),
    Product(
        "C-2210",
        "chair",
        "Sund desk chair, linen seat, beech legs",
        175,
        "4.5 of 5 (146 reviews)",
        "Sund desk chair. Natural linen seat, beech legs, seat height 46 cm, 8 kg.\nIn stock: 9. ",
        "Sund chair, linen, beech legs",
    ),
    Product(
        "C-2214",
        "chair",
        "Sund desk chair, linen seat and back, oak legs",
        198,
        "4.7 of 5 (97 reviews)",
        "Sund desk chair. Natural linen, oak legs, seat height 46 cm, 9 kg. Cover can be washed.\n"
        "In stock: 5. ",
        "Sund chair, linen, oak legs",
    ),
    Product(
        "L-0310",
        "lamp",
        "Fyr desk lamp, brass stem, linen shade",
        84,
        "4.8 of 5 (77 reviews)",
        "Fyr desk lamp. Brushed brass stem, linen shade, 42 cm, E14 bulb not included. In stock: 12.\n",
        "Fyr desk lamp, brass, linen shade",
    ),
    Product(
        "L-0342",
        "lamp",
        "Fyr floor lamp, brass stem, linen shade",
        139,
        "4.6 of 5 (59 reviews)",
        "Fyr floor lamp. Brushed brass stem, linen shade, 148 cm, E27 bulb not included. In stock: 6.\n",
        "Fyr floor lamp, brass, linen shade",
    ),
    Product(
        "L-0207",
        "lamp",
        "Bolt desk lamp, chrome arm",
        39,
        "4.3 of 5 (870 reviews)",
        "Bolt desk lamp. Chrome arm, 38 cm, LED included. In stock: 55.\n",
        "Bolt desk lamp, chrome",
    ),
)
