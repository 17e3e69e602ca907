"""The paper's four domains, after MemoryArena: tasks of our own, generated from a seed, with the paper's scores.

    world, calls           one environment over pure rules: instructions one by one, answers, the cap of a subtask
    task, scoring          a task with its truth and a plan that solves it; SR, PS, the soft PS of travel
    shopping, travel,      the domains; each has its rules, a generator and its tasks
    search, formal
    registry               the domains by name and size
    planning, memories     who plays: a plan, or a model, under one of the policies of `mage.agent`
    running, series        a task as a row; tasks as a file of rows, by any number of workers
    results, reporting     the file, and what it says
    commands               `run` and `report`, for `python -m benchmarks.arena.domains`

No task is MemoryArena's, and no number here is a score on it: the rules are after its, the contents are ours. A domain
says nothing on what a memory is worth beyond what its own construction decides; `RESULTS.md` says where that is.
"""
