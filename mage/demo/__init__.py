"""What a newcomer tries first, without a key and without a network: a desk to buy in a loop of one's own, and a shop.

`TOOLS`, `buy`, `judge` and `ScriptedClient` are for a loop of one's own. `mage.demo.shop` is an environment with ten
products, and who plays in it: `mage demo` and `mage run --offline` show that story.
"""

from mage.demo.desk import TOOLS, ScriptedClient, buy, judge

__all__ = ["TOOLS", "ScriptedClient", "buy", "judge"]
