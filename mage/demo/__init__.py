"""A small shop and a scripted model in place of a real one: loops run without a key and without a network."""

from mage.demo.desk import TOOLS, ScriptedClient, buy, judge

__all__ = ["TOOLS", "ScriptedClient", "buy", "judge"]
