"""The demo's shop: a small environment, and who plays the story in it. `mage demo` tells it, `mage run --offline` runs it."""

from mage.agent.shop.environment import Shop
from mage.agent.shop.goods import TASK
from mage.agent.shop.playing import judge, shopper, summarize

__all__ = ["TASK", "Shop", "judge", "shopper", "summarize"]
