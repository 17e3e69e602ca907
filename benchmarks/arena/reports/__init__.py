"""What files of results say: tables in the paper's layout, curves, a page, and where a task lost its thread.

python -m benchmarks.arena report RESULTS [RESULTS...] [--json] [--html FILE] [--figures DIR]
"""
