"""A Mathics value, shortened to what can be formatted soon. ``<<3>>`` stands for what is left out, as in ``Short``."""

from mathics.core.atoms import Integer, String
from mathics.core.expression import Expression
from mathics.core.symbols import Symbol

#: Leaves of a value, levels of nesting, and characters of one text or digits of one number that are formatted.
LEAVES = 1000
LEVELS = 40
TEXT = 256 * 1024
DIGITS = 4000


class Shortened:
    """``value`` is the one to format; ``whole`` says whether nothing of the given one was left out."""

    def __init__(self, value):
        self._room = LEAVES
        self.whole = True
        self.value = self._cut(value, LEVELS)

    def _cut(self, value, levels):
        self._room -= 1
        if isinstance(value, Expression):
            return self._parts(value, levels)
        if type(value) is String and len(value.value) > TEXT:
            return self._left_out(len(value.value))
        if type(value) is Integer and value.value.bit_length() > DIGITS * 10 // 3:
            return self._left_out(value.value.bit_length() * 3 // 10)
        return value

    def _parts(self, value, levels):
        elements = value.elements
        if not elements:
            return value
        if levels == 0 or self._room <= 0:
            return self._left_out(len(elements))
        kept = []
        for at, element in enumerate(elements):
            if self._room <= 0:
                kept.append(self._left_out(len(elements) - at))
                break
            kept.append(self._cut(element, levels - 1))
        if len(kept) == len(elements) and all(one is other for one, other in zip(kept, elements)):
            return value
        head = value.head
        return Expression(self._cut(head, levels - 1) if isinstance(head, Expression) else head, *kept)

    def _left_out(self, count):
        self.whole = False
        return Symbol('System`<<%d>>' % count)
