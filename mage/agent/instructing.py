"""Instructions on their way into the state: what the world asks for, and what a revise has left behind (D7, D17).

Each is owed until it is placed: somebody else may write between a step and the instruction that came with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mage.agent.situation import Owed, Run
from mage.engine import Instruct, Instruction, Step, StepId, Tree

__all__ = ["left_at", "left_by_others", "owe", "place_again", "place_owed"]


def owe(run: Run, step: StepId, texts: Iterable[str]) -> None:
    """Note what the world asks for from this step on, to be placed."""
    run.owed.extend(Owed(step, Instruction(text), by_world=True) for text in texts)


async def place_owed(run: Run) -> None:
    """Place what is owed, at the step head; what belongs to a way that was left went with it. Raises `Overtaken`.

    It is legal to do so in `Active` and `Unverified`. Cost: O(d) for each that does not belong to the step head.
    """
    while run.owed:
        owed, tree = run.owed[0], run.state.tree
        if owed.step == tree.step_head or owed.step in tree.active_path():
            await _placed(run, owed)
        del run.owed[0]  # not before: what is overtaken is still owed


async def _placed(run: Run, owed: Owed) -> None:
    head = run.state.tree.step_head
    before = run.state.tree.instructions_at(head)
    instruction = owed.instruction
    await run.operate(Instruct(instruction.text, instruction.standing))
    if owed.by_world:
        new = set(run.state.tree.instructions_at(head)).difference(before)  # as the state has it
        run.given[head] = run.given.get(head, frozenset()) | new


def left_at(run: Run, tree: Tree, abandoned: Sequence[Step]) -> list[Instruction]:
    """Return the instructions that stand at steps which are abandoned, or were owed there, in path order."""
    left: list[Instruction] = []
    for step in reversed(abandoned):
        left.extend(tree.instructions_at(step.id))
        left.extend(owed.instruction for owed in run.owed if owed.step == step.id)
    return left


def left_by_others(run: Run, tree: Tree, abandoned: Sequence[Step]) -> list[Instruction]:
    """Return those that the world has not given, and will not give again, in path order.

    Of steps that were there before the run nobody remembers who has given what. What stands there is taken for
    the world's, but for standing instructions, which no world gives.
    """
    left: list[Instruction] = []
    for step in reversed(abandoned):
        given = run.given.get(step.id, frozenset())
        known = step.id >= run.found
        left.extend(
            each for each in tree.instructions_at(step.id) if each.standing or (known and each not in given)
        )
    return left


async def place_again(run: Run, left_behind: Sequence[Instruction]) -> None:
    """Place instructions again that nobody will bring again (D7), and tell the model. Raises `Overtaken`."""
    if not left_behind:
        return
    await run.notice("left_behind", "What you were asked for on the way you left is in force again.")
    head = run.state.tree.step_head
    run.owed.extend(Owed(head, instruction, by_world=False) for instruction in left_behind)
    await place_owed(run)
