"""What becomes of a reply: in which order, how often, and what the model is told."""

from __future__ import annotations

import functools
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage.chat import Form, NoReply, read_reply
from mage.effects import Irreversible, Observed
from mage.engine import (
    Accept,
    Active,
    ApplyVerdict,
    Compress,
    Failed,
    FoldRequest,
    Grow,
    JudgeRequest,
    Lesson,
    Passed,
    Retext,
    Revise,
    Start,
    StepId,
    Verdict,
)
from mage.memory import Call, Memory, MemoryBusy, Policy
from mage.session import Session
from mage.stores import MemoryStore
from tests.memory.replies import (
    TASK,
    buy,
    compress,
    done,
    journal,
    judged_by,
    memory,
    notices,
    reply,
    revise,
)

FORMS = get_args(Form)


def kinds(commands: list[object]) -> list[type]:
    """Return the types of commands."""
    return [type(command) for command in commands]


@pytest.mark.parametrize("form", FORMS)
def test_a_story_reads_the_same_over_every_interface(form: Form) -> None:
    """Buy, compress, buy wrongly, compress: failed and gone back; buy rightly, compress, end."""
    with memory() as kept:
        for calls in (
            [buy("oak desk")],
            [compress("Desk: oak")],
            [buy("chrome chair"), compress("Chair: chrome")],
        ):
            assert not kept.take(reply(*calls, form=form), perform=done).finished
        shown = kept.session.state()
        assert [summary.text for summary in shown.compressed] == ["Desk: oak"]
        assert shown.hints.lessons == (Lesson(StepId(1), "chrome does not fit"),)
        kept.take(reply(buy("linen chair"), compress("Chair: linen"), form=form), perform=done)
        end = kept.take(reply(text="Done.", form=form))
        assert (end.finished, end.text) == (True, "Done.")
        assert kinds(journal(kept)) == [
            *(Start, Grow, Compress, ApplyVerdict),
            *(Grow, Compress, ApplyVerdict, Revise),
            *(Grow, Compress, ApplyVerdict),
        ]


def test_results_stand_in_the_order_of_the_calls_and_own_calls_come_last() -> None:
    """Whatever order they ended in, and wherever the model put its own call."""
    with memory() as kept:
        called = reply(buy("a"), compress("both"), buy("b"), ids=["x", "y", "z"])
        kept.take(called, {"z": "second", "x": "first"})
        assert journal(kept)[1:4] == [
            Grow('buy {"item":"a"}', "first"),
            Grow('buy {"item":"b"}', "second"),
            Compress("both"),
        ]


def test_results_without_ids_are_given_in_order() -> None:
    """Servers that name no calls have one result for each call to a tool of the host's."""
    with memory() as kept:
        kept.take(reply(buy("a"), compress("both"), buy("b")), ["first", Observed("second")])
        assert [step.observation for step in kept.session.at(3).state().raw] == ["first", "second"]
        with pytest.raises(ValueError, match="1 results for 2 calls"):
            kept.take(reply(buy("a"), buy("b")), ["first"])
        with pytest.raises(ValueError, match="'q'"):
            kept.take(reply(buy("a"), ids=["x"]), {"q": "first"})


def test_the_same_reply_again_records_nothing_twice() -> None:
    """A host that hands the last reply in again, in the same process or in the next one, performs and records nothing."""
    store, asked = MemoryStore(), list[Call]()
    called = reply(buy("a"), buy("b"), compress("both"), ids=["x", "y", "z"])

    def perform(call: Call) -> str:
        asked.append(call)
        return done(call)

    for _ in range(2):
        with memory(store) as kept:
            kept.take(called, perform=perform)
            kept.take(called, perform=perform)
            assert kinds(journal(kept)) == [Start, Grow, Grow, Compress, ApplyVerdict]
    assert [call.id for call in asked] == ["x", "y"]


def test_calls_without_ids_are_never_taken_for_known() -> None:
    """A model that asks for the same thing twice gets two steps."""
    with memory() as kept:
        for _ in range(2):
            kept.take(reply(buy("a")), perform=done)
        assert kinds(journal(kept)) == [Start, Grow, Grow]


def test_what_is_not_carried_out_holds_back_what_follows() -> None:
    """None for a call: it, the calls behind it and the own call are not done, and the model is told so once."""
    with memory() as kept:
        kept.take(
            reply(buy("a"), buy("b"), buy("c"), compress("all")),
            perform=lambda call: None if call.arguments["item"] == "b" else "ok",
        )
        assert kinds(journal(kept)) == [Start, Grow]
        shown = kept.messages()
        assert notices(shown) == ["Not done, of your last reply:"]
        assert ' buy {"item":"b"}\n buy {"item":"c"}\n compress' in str(shown[-1]["content"])
        assert notices(kept.messages()) == ["Not done, of your last reply:"]
        kept.take(reply(buy("b")), perform=done)
        assert notices(kept.messages()) == []


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (("compress", {}), "Your compress could not be read, and nothing was done:"),
        (("revise", {"step": "one", "lesson": ""}), "Your revise could not be read, and nothing was done:"),
        (
            revise(9, "x"),
            "You cannot go back there: [Step 9] is not a boundary to go back to; it is: [Step 0]",
        ),
        (compress("x"), "You cannot compress now: nothing to compress: no step was taken since [Step 0]"),
    ],
)
def test_a_refusal_is_words_for_the_model(call: tuple[str, dict[str, object]], told: str) -> None:
    """Nothing is raised and nothing is recorded; the next messages say what was wrong."""
    with memory() as kept:
        assert not kept.take(reply(call)).finished
        assert kinds(journal(kept)) == [Start]
        (said,) = notices(kept.messages())
        assert said.startswith(told[:40])


def test_a_call_whose_arguments_are_no_json_is_not_performed() -> None:
    """The host is not asked, and what follows is held back."""
    with memory() as kept:
        broken = reply(buy("a"), ids=["x"])
        broken["tool_calls"][0]["function"]["arguments"] = '{"item": "a'
        kept.take(broken, perform=lambda call: pytest.fail("performed"))
        assert "A call of your last reply could not be read, and was not done:" in notices(kept.messages())


@pytest.mark.parametrize("value", [None, "text", 7, {"role": "user", "content": "x"}, [1]])
def test_what_is_no_reply_is_refused_and_loses_nothing(value: object) -> None:
    """The refusal names the forms that are taken."""
    with memory() as kept, pytest.raises(NoReply, match="chat completion"):
        kept.take(value)


def test_a_result_on_a_summary_that_failed_meanwhile_is_kept() -> None:
    """It happened: the failed summary is accepted openly in the same write, and the model is told."""
    store = MemoryStore()
    with memory(store) as kept, Session.open(store, "m") as other:
        kept.take(reply(buy("chrome chair")), perform=done)
        other.refresh()
        other.compress("Chair: chrome")
        other.judge(judged_by("chrome")(other.judge_request()))
        kept.session.refresh()
        assert "has failed meanwhile" in kept.may_act()
        before = len(journal(kept))
        kept.take(reply(buy("lamp"), ids=["x"]), {"x": "bought"})
        assert journal(kept)[before:] == [Accept(), Grow('buy {"item":"lamp"}', "bought")]
        assert "[Step 0] stays although it has failed: see its status." in notices(kept.messages())
        assert isinstance(kept.session.phase, Active)


def test_an_action_is_barred_before_it_is_done_where_the_memory_performs() -> None:
    """On a summary that has failed meanwhile `perform` is not asked."""
    store = MemoryStore()
    with memory(store) as kept, Session.open(store, "m") as other:
        kept.take(reply(buy("chrome chair")), perform=done)
        other.refresh()
        other.compress("Chair: chrome")
        other.judge(judged_by("chrome")(other.judge_request()))
        kept.take(reply(buy("lamp")), perform=lambda call: pytest.fail("performed"))
        assert "Not done, of your last reply:" in notices(kept.messages())


def test_steps_are_recorded_without_calls_too() -> None:
    """`record` takes an action in any words, and what it did to the world is told when it is left behind."""
    with memory() as kept:
        kept.record("send the letter", "Sent.", effect=Irreversible("letters stay sent"), meta={"who": "me"})
        assert kept.session.history()[-1].meta["who"] == "me"
        kept.take(reply(revise(0, "do not write")))
        assert " Step 1, send the letter: cannot be undone: letters stay sent" in str(
            kept.messages()[-1]["content"]
        )


def test_what_a_memory_calls_must_not_use_it() -> None:
    """A tool that records by itself would stand in the middle of its own call."""
    with memory() as kept:
        with pytest.raises(MemoryBusy):
            kept.take(reply(buy("a")), perform=lambda call: str(kept.messages()))
        assert kept.messages()


def test_an_instruction_is_shown_from_then_on() -> None:
    """The user's next words; blank ones are refused."""
    with memory() as kept:
        kept.instruct("In oak.", standing=True)
        assert f"Task: {TASK}\nInstruction: In oak.\n" in str(kept.messages()[-1]["content"])
        with pytest.raises(ValueError, match="blank"):
            kept.instruct(" ")


def test_a_result_of_a_call_that_cannot_be_read_is_kept() -> None:
    """The host has carried it out, however it read it: it happened."""
    with memory() as kept:
        broken = reply(buy("a"), ids=["x"])
        broken["tool_calls"][0]["function"]["arguments"] = "{item: a}"
        kept.take(broken, {"x": "bought"})
        assert journal(kept)[1:] == [Grow("buy {item: a}", "bought")]


CUT = [
    {"choices": [{"finish_reason": "length", "message": {"role": "assistant", "content": "The answer is"}}]},
    {
        "object": "response",
        "status": "incomplete",
        "output": reply(text="The answer is", form="responses")["output"],
    },
    {"object": "response", "status": "failed", "output": []},
    *[
        {**reply(text="The answer is", form="anthropic"), "stop_reason": reason}
        for reason in ("max_tokens", "pause_turn")
    ],
    {"choices": [{"finish_reason": "content_filter", "message": {"role": "assistant", "content": "The"}}]},
]


@pytest.mark.parametrize("cut", CUT)
def test_a_reply_that_was_cut_off_is_no_answer(cut: object) -> None:
    """The model is told to be shorter; a whole reply afterwards is the answer."""
    with memory() as kept:
        assert not kept.take(cut).finished
        assert notices(kept.messages()) == ["Your last reply was cut off: be shorter."]
        assert kept.take(reply(text="42.")).finished


@pytest.mark.parametrize("text", ["", " \n"])
@pytest.mark.parametrize("form", FORMS)
def test_an_empty_reply_is_no_answer(form: Form, text: str) -> None:
    """Some models reply with nothing at all."""
    with memory() as kept:
        assert not kept.take(reply(text=text, form=form)).finished
        assert notices(kept.messages()) == ["Your last reply was empty."]


def test_a_refusal_of_the_model_is_what_it_said() -> None:
    """OpenAI's interfaces have a field of their own for it."""
    with memory() as kept:
        refusal = {"role": "assistant", "content": None, "refusal": "I will not."}
        assert kept.take(refusal).text == "I will not."
        part = {"type": "message", "content": [{"type": "refusal", "refusal": "Nor here."}]}
        assert kept.take({"object": "response", "output": [part]}).text == "Nor here."


BENT = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5)),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "role",
                    "content",
                    "tool_calls",
                    "function",
                    "choices",
                    "message",
                    "output",
                    "type",
                    "id",
                    "input",
                    "text",
                ]
            )
            | st.just("name"),
            inner | st.sampled_from(["assistant", "message", "tool_use", "function_call", "text"]),
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(BENT, st.sampled_from(["tool_calls", "content", "output", "choices"]))
def test_any_json_is_a_reply_or_is_refused(value: object, where: str) -> None:
    """However bent: it is read, or `NoReply`, and nothing else is raised."""
    for document in (value, {"role": "assistant", "type": "message", where: value}):
        try:
            found = read_reply(document)
        except NoReply:
            continue
        assert len(found.digest) == 16


def test_a_reply_of_many_calls_is_digested_once() -> None:
    """Each call of it is looked up by its digest: a thousand calls must not cost a thousand digests of all of them."""
    found = read_reply(reply(*[buy(str(number)) for number in range(3)], ids=["x", "y", "z"]))
    assert found.digest is found.digest


def test_what_the_environment_asks_for_is_shown_from_then_on() -> None:
    """Instructions that come back with an observation are pinned at its step, from a call or from `record`."""
    with memory() as kept:
        kept.take(reply(buy("a")), perform=lambda call: Observed("ok", instructions=("In oak.",)))
        kept.record("look", Observed("A room.", instructions=("Be quick.",)))
        assert "Instruction: In oak.\nInstruction: Be quick.\n" in str(kept.messages()[-1]["content"])


@pytest.mark.parametrize("form", FORMS)
def test_a_reply_is_read_as_a_host_keeps_it_in_a_history(form: Form) -> None:
    """A message of Anthropic's has only role and content there; its calls are calls all the same."""
    whole = reply(buy("a"), text="Now.", form=form, ids=["x"])
    kept = {name: value for name, value in whole.items() if name != "type"}
    assert read_reply(kept) == read_reply(whole)


DEEP: list[object] = functools.reduce(lambda inner, _: [inner], range(200_000), list[object]())


@pytest.mark.parametrize("given", [DEEP, 10**5_000, {1}, object()], ids=["deep", "long", "set", "object"])
def test_arguments_that_json_cannot_say_make_a_call_that_cannot_be_read(given: object) -> None:
    """Nothing is raised: the model is told, and a result that is there is kept."""
    called = reply(buy("a"), form="anthropic", ids=["x"])
    called["content"][-1]["input"] = {"item": given}
    with memory() as kept:
        kept.take(called, perform=lambda call: pytest.fail("performed"))
        assert "A call of your last reply could not be read, and was not done:" in notices(kept.messages())
        kept.take(called, {"x": "bought"})
        assert [type(command) for command in journal(kept)] == [Start, Grow]


def test_however_many_calls_cannot_be_read_the_model_is_told_once() -> None:
    """What is told once must not fill the prompt: twenty reasons, and how many there are more."""
    with memory() as kept:
        broken = reply(*[buy(str(number)) for number in range(1_000)])
        for call in broken["tool_calls"]:
            call["function"]["arguments"] = "{"
        kept.take(broken, perform=lambda call: pytest.fail("performed"))
        shown = kept.messages()
        assert len(notices(shown)) == 2
        assert len(str(shown[-1]["content"])) < 5_000


def test_a_model_that_replies_the_same_with_the_same_ids_is_told() -> None:
    """Some servers number the calls of each reply alike: it is taken for the same reply, but not in silence."""
    with memory() as kept:
        said = reply(buy("a"), ids=["functions.buy:0"])
        kept.take(said, perform=done)
        kept.take(said, perform=done)
        assert notices(kept.messages()) == []
        kept.take(said, perform=done)
        assert notices(kept.messages()) == [
            "Your last reply was the one before once more, with the ids of its calls: nothing was done again."
        ]
        assert kinds(journal(kept)) == [Start, Grow]
        kept.take(reply(buy("a"), text="Once more.", ids=["functions.buy:0"]), perform=done)
        assert kinds(journal(kept)) == [Start, Grow, Grow]


def test_an_effect_is_kept_beside_an_observation_that_names_none() -> None:
    """`record` takes it by its argument, whatever form the result has."""
    with memory() as kept:
        kept.record("send", Observed("Sent."), effect=Irreversible("it stays"))
        kept.take(reply(revise(0, "no")))
        assert "send: cannot be undone: it stays" in str(kept.messages()[-1]["content"])


def test_results_and_perform_are_not_given_both() -> None:
    """One of them would be ignored."""
    with memory() as kept, pytest.raises(ValueError, match="not both"):
        kept.take(reply(buy("a"), ids=["x"]), {"x": "ok"}, perform=done)


def test_the_second_of_two_own_calls_is_not_done_when_the_reply_is_handed_in_again() -> None:
    """The first was done; the reply is no other one because of that."""
    with memory() as kept:
        said = reply(buy("a"), compress("A"), revise(0, "no"), ids=["x", "y", "z"])
        for _ in range(2):
            kept.take(said, perform=done)
            assert kinds(journal(kept)) == [Start, Grow, Compress, ApplyVerdict]


@pytest.mark.parametrize(
    ("said", "action"),
    [
        (
            {"type": "custom_tool_call", "call_id": "x", "name": "code", "input": "print(1)"},
            "code print(1)",
        ),
        (
            {"type": "computer_call", "call_id": "x", "action": {"type": "click"}},
            'computer_call {"type":"click"}',
        ),
        ({"id": "x", "type": "custom", "custom": {"name": "code", "input": "print(1)"}}, "code print(1)"),
    ],
)
def test_a_call_of_a_rarer_kind_is_a_call(said: dict[str, object], action: str) -> None:
    """A reply that makes one is not the answer; what came of it is a step."""
    in_chat = {"role": "assistant", "content": "Now.", "tool_calls": [said]}
    whole = in_chat if "custom" in said else {"object": "response", "output": [said]}
    with memory() as kept:
        assert not kept.take(whole, {}).finished
        kept.take(whole, {"x": "1"})
        assert journal(kept) == [Start(TASK), Grow(action, "1")]


def test_a_reply_with_calls_and_no_word_of_what_came_of_them_is_refused() -> None:
    """Neither `perform` nor `results` is a slip of the host's: it is told which, and the reply can be given again."""
    said = {"role": "assistant", "content": "Now.", "tool_calls": [CALL]}
    with memory() as kept:
        with pytest.raises(ValueError, match=r"the reply calls buy: give perform=.* or results="):
            kept.take(said)
        kept.take(said, {"x": "1"})
        assert [type(command) for command in journal(kept)] == [Start, Grow]


CALL = {"id": "x", "type": "function", "function": {"name": "buy", "arguments": "{}"}}


def test_the_one_call_of_older_servers_is_a_call() -> None:
    """It has no id."""
    with memory() as kept:
        called = {"name": "buy", "arguments": '{"item": "a"}'}
        kept.take({"role": "assistant", "content": None, "function_call": called}, ["ok"])
        assert journal(kept) == [Start(TASK), Grow('buy {"item":"a"}', "ok")]


def test_a_text_that_is_at_fault_is_asked_for_again_where_nobody_else_writes_it() -> None:
    """Without a summarizer the model itself writes a better text; its steps are not undone, and no action is barred for ever."""

    def judge(request: JudgeRequest | FoldRequest) -> Verdict:
        return Passed() if "for $310" in request.text else Failed("the price is missing", "summary")

    with Memory.open(MemoryStore(), "m", task=TASK, judge=judge) as kept:
        kept.take(reply(buy("oak desk"), compress("Desk: oak")), perform=done)
        (told,) = notices(kept.messages())
        assert (
            told
            == "Your text of [Step 0] has failed: call compress with a better one. What is wrong with it:"
        )
        assert "the price is missing" in str(kept.messages()[-1]["content"])
        assert not kept.take(reply(text="Done.")).finished
        kept.take(reply(compress("Desk: oak, for $310")))
        assert kinds(journal(kept))[1:] == [Grow, Compress, ApplyVerdict, Retext, ApplyVerdict]
        assert kept.take(reply(text="Done.")).finished


def test_a_text_that_stays_at_fault_is_accepted_openly_in_the_end() -> None:
    """As often as the policy says; then S says that it has failed, and the agent goes on."""
    never = Memory.open(MemoryStore(), "m", task=TASK, judge=lambda request: Failed("no", "summary"))
    with never as kept:
        kept.take(reply(buy("oak desk"), compress("0")), perform=done)
        for number in range(5):
            kept.messages()
            kept.take(reply(compress(f"{number}")))
        kept.take(reply(buy("chair")), perform=done)
        assert kinds(journal(kept)).count(Retext) == Policy().max_retexts
        assert kinds(journal(kept))[-2:] == [Accept, Grow]


@pytest.mark.parametrize("wrong", [RuntimeError("broken"), KeyboardInterrupt(), object()])
def test_a_host_that_fails_at_a_call_leaves_the_model_in_the_know(wrong: object) -> None:
    """What it raises is passed on, or refused; the model is told that nobody knows, and other results are kept."""

    def perform(call: Call) -> str:
        if call.arguments["item"] == "b":
            if isinstance(wrong, BaseException):
                raise wrong
            return wrong  # type: ignore[return-value]
        return "ok"

    with memory() as kept:
        expected = type(wrong) if isinstance(wrong, BaseException) else TypeError
        with pytest.raises(expected):
            kept.take(reply(buy("a"), buy("b")), perform=perform)
        assert [type(command) for command in journal(kept)] == [Start, Grow]
        (told,) = notices(kept.messages())
        assert told.startswith("The host failed at this call of yours")


def test_what_comes_back_as_json_is_written_as_such() -> None:
    """Numbers, lists and objects are no loss."""
    with memory() as kept:
        kept.take(reply(buy("a"), ids=["x"]), {"x": {"b": [1, None], "a": True}})  # type: ignore[dict-item]
        assert journal(kept)[-1] == Grow('buy {"item":"a"}', '{"a":true,"b":[1,null]}')


def test_an_agent_without_calls_compresses_and_goes_back_by_the_host() -> None:
    """As if the model had called: judged, and refusals are words for the model."""
    with memory() as kept:
        kept.record("buy the desk", "Bought.")
        kept.compress("Desk: oak")
        kept.record("buy the chair", "Bought.")
        kept.revise(0, "measure first")
        assert kept.session.state().raw == ()
        assert [each.text for each in kept.session.state().hints.lessons] == ["measure first"]
        kept.revise(7)
        assert any(told.startswith("You cannot go back there") for told in notices(kept.messages()))


def test_a_process_that_ends_right_after_going_back_leaves_the_next_one_in_the_know() -> None:
    """What was undone is not known; the model of the next process is told what may still stand, once."""
    store = MemoryStore()
    with memory(store) as kept:
        kept.instruct("Keep it cheap.")
        kept.record("send the letter", "Sent.", effect=Irreversible("sent"))
        kept.take(reply(revise(0, "do not write")))
    with memory(store) as kept:
        (told,) = notices(kept.messages())
        assert told.startswith("You were interrupted right after going back")
        assert " Step 1, send the letter: cannot be undone: sent" in str(kept.messages()[-1]["content"])
        kept.record("look", "Nothing.")
    with memory(store) as kept:
        assert notices(kept.messages()) == []


def test_a_process_that_ends_in_a_later_call_was_not_interrupted_in_going_back() -> None:
    """The outcome of going back was known before the call was begun: of that call alone the next process is unsure."""
    store = MemoryStore()

    def dies(_: Call) -> str:
        raise SystemExit

    with memory(store) as kept:
        kept.record("send the letter", "Sent.", effect=Irreversible("sent"))
        kept.take(reply(revise(0, "do not write")))
        with pytest.raises(SystemExit):
            kept.take(reply(buy("a desk")), perform=dies)
    with memory(store) as kept:
        (told,) = notices(kept.messages())
        assert "going back" not in told


@pytest.mark.parametrize("ending", ["length", "content_filter", "network_error", "a word nobody knows"])
def test_nothing_of_a_reply_that_is_not_whole_is_done(ending: str) -> None:
    """Neither an action nor a summary; the model is told, and may do it anew."""
    asked: list[Call] = []

    def carry_out(call: Call) -> str:
        asked.append(call)
        return "done"

    cut = {"choices": [{"message": reply(buy("oak desk"), compress("Desk")), "finish_reason": ending}]}
    whole = {"choices": [{"message": reply(buy("oak desk")), "finish_reason": "tool_calls"}]}
    with memory() as kept:
        assert not kept.take(cut, perform=carry_out).finished
        assert (asked, kinds(journal(kept))) == ([], [Start])
        told = "Your last reply was cut off, so nothing more of it was done. Be shorter. Not done:"
        assert told in notices(kept.messages())
        kept.take(whole, perform=done)
        assert kinds(journal(kept)) == [Start, Grow]


def test_what_the_host_has_done_of_a_cut_reply_is_recorded() -> None:
    """What happened is never lost, however the reply ended."""
    cut = {"choices": [{"message": reply(buy("oak desk"), compress("Desk")), "finish_reason": "length"}]}
    with memory() as kept:
        kept.take(cut, ["bought"])
        assert kinds(journal(kept)) == [Start, Grow]
        assert any(told.startswith("Your last reply was cut off") for told in notices(kept.messages()))


def test_an_image_in_a_result_is_a_mark_and_its_bytes_are_in_the_meta() -> None:
    """As tools of MCP's return them; it is never counted as text."""
    image = {"type": "image", "data": "QUJD" * 50, "mimeType": "image/png"}
    result: Any = [{"type": "text", "text": "Bought:"}, image]
    with memory() as kept:
        kept.take(reply(buy("oak desk")), [result])
        entry = kept.session.history()[-1]
        assert isinstance(entry.command, Grow)
        assert entry.command.observation.startswith("Bought:\n[image/png, 150 bytes, sha256 ")
        parts = entry.meta["parts"]
        assert isinstance(parts, dict)
        assert list(parts.values()) == [image]
        assert "QUJD" not in str(kept.messages())


@pytest.mark.parametrize("form", FORMS)
def test_what_stood_beside_a_call_goes_back_with_it(form: Form) -> None:
    """While its step is shown as a call, in its own interface; another process reads it from the journal."""
    store = MemoryStore()
    made = reply(buy("oak desk"), form=form, ids=["c"])
    if form == "chat":
        made["reasoning_content"] = "hm"
    if form == "responses":
        made["output"][0]["encrypted_content"] = "hm"
    with memory(store) as kept:
        kept.take(made, perform=done)
        shown = kept.messages(form, steps="calls")
    with memory(store) as again:
        assert again.messages(form, steps="calls") == shown
        assert "hm" in str(shown)
    with memory(store, policy=Policy(thoughts="none")) as unthinking:
        assert "hm" not in str(unthinking.messages(form))
