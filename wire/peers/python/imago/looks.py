"""The looks that this peer offers: for each its parameters, and the function that answers it.

A function is given the image and its query, runs no user code, and returns a ``Looked`` of ``wire/kernel.ts``. It is
called on a worker, while the program runs. ``inspect`` stands in ``service.py``: it may have to run code.
"""

from imago import looking, tracing
from imago.looking import outcomes, suspended
from imago.looking.arglists import arglist
from imago.looking.completing import complete
from imago.looking.definitions import definition
from imago.looking.describing import describe
from imago.looking.hierarchy import hierarchy
from imago.looking.modulepage import symbols
from imago.looking.names import globals_of
from imago.looking.references import references
from imago.looking.searching import apropos
from imago.looking.slots import slots
from imago.looking.threads import threads
from imago.params import count, flag, optional, text
from imago.theirs import Left, adopt, theirs


class Image:
    """What is looked at: the namespace of the top level, and what is remembered beside it."""

    __slots__ = ('namespace', 'handles', 'history', 'errors', 'suspensions', 'left', 'tracing')

    def __init__(self, namespace, handles, evaluator, tracing):
        self.namespace = namespace
        self.handles = handles
        self.history = evaluator.history
        self.errors = evaluator.errors
        self.suspensions = evaluator.suspensions
        self.left = Left(handles)
        self.tracing = tracing


LOOKS = {
    'globals': (
        {
            'modules': flag,
            'limit': count,
            'module': optional(text),
            'after': optional(text),
            'filter': optional(text),
        },
        globals_of,
    ),
    'more': (
        {'handle': text, 'from': count, 'count': count},
        lambda image, query: looking.more(image.handles, query),
    ),
    'history': (
        {'limit': count, 'before': optional(count)},
        lambda image, query: outcomes.found(image.history.page(query)),
    ),
    'last_error': ({}, lambda image, _: outcomes.found(image.errors.last())),
    'definition': ({'name': text, 'max_length': count, 'contexts': optional(flag)}, definition),
    'describe': ({'name': text}, describe),
    'arglist': ({'name': text}, arglist),
    'complete': ({'text': text, 'cursor': count, 'limit': count}, complete),
    'apropos': ({'pattern': text, 'module': optional(text), 'after': optional(text), 'limit': count}, apropos),
    'symbols': (
        {'module': text, 'internal': flag, 'filter': optional(text), 'after': optional(text), 'limit': count},
        symbols,
    ),
    'slots': ({'name': text, 'limit': count}, slots),
    'hierarchy': ({'name': text, 'limit': count}, hierarchy),
    'references': ({'name': text, 'limit': count}, references),
    'suspensions': ({}, suspended.suspensions),
    'suspension': (
        {'suspension': text, 'from': count, 'count': count, 'renew': optional(flag)},
        suspended.suspension,
    ),
    'frame': ({'suspension': text, 'frame': count, 'renew': optional(flag)}, suspended.frame),
    'lease': ({'suspension': text, 'lease_ms': count}, suspended.lease),
    'theirs': ({}, theirs),
    'adopt': ({'id': text, 'lease_ms': count}, adopt),
    'threads': ({'filter': optional(text), 'limit': count, 'frames': count, 'locals': flag}, threads),
    **tracing.LOOKS,
}

#: What this peer can do, as its hello says it.
ABILITIES = ['evaluate', 'load', 'reload', 'interrupt', 'ask', 'inspect', 'suspend', *LOOKS]
