"""A library that lends books, in the layout of a checkout of STATE-Bench: what the follower's loader runs in tests.

`state_bench/` is copied as it is; its tasks, environments and recorded runs are made by `making`. All of it is ours.
"""
