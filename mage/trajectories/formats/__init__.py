"""The formats of traces, a module each: what tells a format from the others, and what of it becomes a step."""

from mage.trajectories.formats.chat import is_chat, load_chat
from mage.trajectories.formats.journal import is_bundle, is_journal, load_bundle, load_journal
from mage.trajectories.formats.swe_agent import is_swe_agent, load_swe_agent
from mage.trajectories.formats.tau_bench import is_tau_bench, load_tau_bench
from mage.trajectories.formats.tot_crosswords import is_tot_crosswords, load_tot_crosswords
from mage.trajectories.formats.who_and_when import is_who_and_when, load_who_and_when

__all__ = [
    "is_bundle",
    "is_chat",
    "is_journal",
    "is_swe_agent",
    "is_tau_bench",
    "is_tot_crosswords",
    "is_who_and_when",
    "load_bundle",
    "load_chat",
    "load_journal",
    "load_swe_agent",
    "load_tau_bench",
    "load_tot_crosswords",
    "load_who_and_when",
]
