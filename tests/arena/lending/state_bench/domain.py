"""The one domain: a library, with its tools."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs


@attrs.define
class Shelves:
    """What a task begins with: books by id, members by id, and who has which book."""

    books: dict[str, dict[str, Any]]
    members: dict[str, dict[str, Any]]
    loans: dict[str, dict[str, Any]]

    @classmethod
    def load(cls, path: Path) -> Shelves:
        return cls(**json.loads(path.read_text(encoding="utf-8")))


class Library:
    """The desk of a library: what is asked for by a tool is looked up or changed."""

    def __init__(self, env_data: Shelves, now: str) -> None:
        self.shelves = copy.deepcopy(env_data)
        self.now = now

    def get_full_snapshot(self) -> dict[str, dict[str, dict[str, Any]]]:
        return copy.deepcopy(attrs.asdict(self.shelves))

    @property
    def tool_handlers(self) -> dict[str, Callable[[dict[str, Any]], dict[str, Any]]]:
        return {"get_member": self.get_member, "search_books": self.search_books, "lend_book": self.lend_book}

    def get_member(self, arguments: dict[str, Any]) -> dict[str, Any]:
        found = self.shelves.members.get(arguments["member_id"])
        return found if found is not None else {"error": "no such member"}

    def search_books(self, arguments: dict[str, Any]) -> dict[str, Any]:
        topic = arguments["topic"]
        return {"books": [book for book in self.shelves.books.values() if book["topic"] == topic]}

    def lend_book(self, arguments: dict[str, Any]) -> dict[str, Any]:
        book, member = arguments["book_id"], self.shelves.members[arguments["member_id"]]
        if book not in self.shelves.books:
            return {"error": "no such book"}
        if arguments["card"] != member["card"]:
            return {"error": "the card is another's"}
        loan = {"loan_id": f"LOAN-{book}", "member_id": member["member_id"], "stamp": arguments["stamp"]}
        self.shelves.loans[loan["loan_id"]] = loan
        return loan


@attrs.frozen
class DomainConfig:
    """What the loader asks a domain for."""

    name: str
    environment_class: type[Library]
    env_data_class: type[Shelves]
    tool_schemas: list[dict[str, Any]]
    write_tool_names: list[str]


def get_domain_config(name: str) -> DomainConfig:
    if name != "lending":
        raise ValueError(f"there is no domain {name}")
    topics = {"type": "string", "enum": ["whales", "rivers"]}
    schemas = [{"name": "search_books", "parameters": {"properties": {"topic": topics}}}]
    return DomainConfig(name, Library, Shelves, schemas, ["lend_book"])
