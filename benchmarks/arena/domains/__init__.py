"""The paper's four domains, after MemoryArena: tasks of our own, generated from a seed, with the paper's scores.

    world, calls           one environment over pure rules: instructions one by one, answers, the cap of a subtask
    task, scoring          a task with its truth and a plan that solves it; SR, PS, the soft PS of travel
    shopping, travel,      the domains; each has its rules, a generator and its tasks
    search, formal
    registry               the domains by name and size
    planning, memories     who plays: a plan, or a model, under one of the policies of `mage.agent`
    running, series        a task as a row; tasks as a file of rows, by any number of workers
    decisions, remote      the prompts of a run, read from its session; tasks over Ray
    results                the file of rows
    addresses              a task by its address, for `mage run` and for playing by hand
    reader, judging        a scripted model that knows its prompt alone, and a judge that knows the truth
    laboratory, lab_report what decides how that reader does, and its table
    measured, revisions    what judges find in the shop, and what their revisions cost and mend
    who_and_when, by_hand  runs whose mistake people have labelled; you as a judge
    judges                 `judges`
    commands               `run`, `task`, `mark` and `lab`

No task is MemoryArena's, and no number here is a score on it: the rules are after its, the contents are ours. A plan
that solves a task shows what prompts would have taken, and nothing of what a model would have made of them.
"""
