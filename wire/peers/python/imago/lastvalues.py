"""``_``, ``__`` and ``___``: the last values that a person was shown at the console, as Python's own prompts have them.

They are names of the top level, and only as long as nothing else has these names there or among the builtins, where
``gettext`` puts its own ``_``. What agents evaluate in between changes none of them, and a program that Imago is
attached to is not given any.
"""

import builtins

#: Who asks as the console does.
CONSOLE = 'imago'
NAMES = ('_', '__', '___')

_ABSENT = object()


class LastValues:
    """Gives the names in one namespace, and knows which values it gave: a name that has another one is not ours."""

    def __init__(self, namespace):
        self._namespace = namespace
        self._given = dict.fromkeys(NAMES, _ABSENT)

    def keep(self, values, who):
        """Remembers what an evaluation of ``who`` came to. ``None`` is shown to nobody, and is not remembered."""
        if who != CONSOLE or not values or values[-1] is None or not self._are_free():
            return
        value = values[-1]
        for name in NAMES:
            value, self._given[name] = self._given[name], value
            if self._given[name] is _ABSENT:
                return
            self._namespace[name] = self._given[name]

    def _are_free(self):
        """Whether the names are ours, or nobody's."""
        if '_' in vars(builtins):
            return False
        return all(name not in self._namespace or self._namespace[name] is self._given[name] for name in NAMES)
