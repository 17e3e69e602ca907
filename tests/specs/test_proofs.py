"""What counts as proved: nothing assumed, nothing admitted, every theorem asked what it rests on."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from specs.proofs import Unproved, check_proofs, theorems, unproved

WAYS_OUT = (
    "Theorem t : False. Admitted.",
    "Axiom a : False.",
    "Axioms a b : False.",
    "Parameter p : nat.",
    "Conjecture c : False.",
    "Lemma l : False. admit. Abort.",
    "Lemma l : False. give_up.",
    "Unset Guard Checking.",
    "Unset  Positivity Checking.",
    "Unset Universe Checking.",
    "Hypothesis h : forall P : Prop, P.",
    "Hypotheses (h : False).",
    "Variable v : False.",
    "Context (c : False).",
    'Extract Constant f => "g".',
    'Extract Inlined Constant f => "g".',
    "#[bypass_check(guard)] Fixpoint f (n : nat) : nat := f n.",
)


@pytest.mark.parametrize("line", WAYS_OUT)
def test_no_way_out_is_taken_for_a_proof(tmp_path: Path, line: str) -> None:
    """A file that assumes or admits something is refused, with the line that does it."""
    path = tmp_path / "Wrong.v"
    path.write_text(f"(* nothing here is Admitted,\n   and no Axiom *)\n{line}\n", encoding="utf-8")
    assert (unproved(path) or "").startswith("Wrong.v:3: ")


def test_a_comment_may_speak_of_axioms(tmp_path: Path) -> None:
    """Only what Coq reads is looked at."""
    path = tmp_path / "Right.v"
    path.write_text("(* no Axiom (* and nothing Admitted *) here *)\nLemma l : True.\nProof. exact I. Qed.\n")
    assert unproved(path) is None


def test_no_file_of_ours_assumes_anything() -> None:
    """Every file of the proofs is free of what lets Coq believe without proof."""
    files = sorted((Path(__file__).parents[2] / "specs" / "coq").glob("*.v"))
    assert len(files) > 4
    assert [unproved(path) for path in files if unproved(path)] == []


def test_what_is_given_is_little() -> None:
    """The proofs assume two things of what is given from outside: equality of texts and of digests is decided."""
    given = (Path(__file__).parents[2] / "specs" / "coq" / "Given.v").read_text(encoding="utf-8")
    assert re.findall(r"^Hypothes\w+ (\w+)", given, re.MULTILINE) == ["same_spec", "same_digest_spec"]


def test_every_theorem_has_its_own_name() -> None:
    """No two theorems share a name, so a row of the table means one of them."""
    names = [theorem.name for theorem in theorems()]
    assert len(names) > 30
    assert sorted(set(names)) == sorted(names)


@pytest.mark.formal
def test_an_assumption_behind_a_definition_is_found(tmp_path: Path) -> None:
    """What a theorem rests on is asked of Coq, so a variable outside a section does not slip through."""
    source = tmp_path / "coq"
    source.mkdir()
    (source / "Path.v").write_text(
        "Variable any : forall P : Prop, P.\nTheorem anything : 1 = 2.\nProof. apply any. Qed.\n",
        encoding="utf-8",
    )
    with pytest.raises(Unproved, match="assumes something"):
        check_proofs(source, tmp_path / "build")


@pytest.mark.formal
def test_a_weakened_statement_is_found(tmp_path: Path) -> None:
    """A theorem that no longer says what it said fails, though its proof goes through."""
    source = tmp_path / "coq"
    source.mkdir()
    (source / "Weak.v").write_text("Theorem t : True.\nProof. exact I. Qed.\n", encoding="utf-8")
    (source / "statements.txt").write_text("Weak.t\n     : 1 + 1 = 2\n", encoding="utf-8")
    with pytest.raises(Unproved, match=r"do not say what statements\.txt says"):
        check_proofs(source, tmp_path / "build")


@pytest.mark.formal
def test_a_wrong_proof_is_named(tmp_path: Path) -> None:
    """A proof that does not go through fails with Coq's own words."""
    source = tmp_path / "coq"
    source.mkdir()
    (source / "Wrong.v").write_text("Theorem t : 1 = 2.\nProof. reflexivity. Qed.\n", encoding="utf-8")
    with pytest.raises(Unproved, match="Unable to unify"):
        check_proofs(source, tmp_path / "build")
