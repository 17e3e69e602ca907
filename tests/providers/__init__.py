"""Providers on loopback that refuse what the real ones refuse, for real clients: see `server.py`.

`forms.py` has what the three interfaces share, `chat.py`, `responses.py` and `messages.py` are one interface each
(what it refuses, how its request is read, how a reply is written), `story.py` is a model that plays the desk shop.
What is refused, and in which words, is known from public issues and the providers' pages, named where a rule stands;
no provider was asked.
"""
