"""Bundled web shopping: products bought one after the other, where what was bought decides what fits.

catalogue    the values: products, notes, subtasks; what is right after which purchases
stocking     a shop and its bundle, drawn from a seed
rules        the shop as the agent finds it: searching, paging, opening, buying
tasks        tasks, their oracle's plan and how a run is marked
"""
