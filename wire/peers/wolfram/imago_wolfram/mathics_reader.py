"""Mathics' own parser, with the place of each token right: it goes back to that place where an expression does not fit."""

from mathics.core.parser import parser
from mathics.core.parser.ast import Filename
from mathics.core.parser.convert import GenericConverter
from mathics_scanner.errors import InvalidSyntaxError
from mathics_scanner.tokeniser import Tokeniser

#: Times in a row that one token is asked for. Levels of nesting that end at it are fewer.
ASKED = 100_000


class _Tokeniser(Tokeniser):
    def t_RawBackslash(self, pattern_match):
        begun = self.pos
        token = super().t_RawBackslash(pattern_match)
        # In Mathics it is 0: after ``;;\\[Rule]`` the parser began again at the start of the text, for ever.
        token.pos = begun
        return token

    def t_Filename(self, pattern_match):
        """Raises what Mathics does when the name is evaluated, if its escapes are none."""
        token = super().t_Filename(pattern_match)
        GenericConverter().convert_Filename(Filename(token.text))
        return token


class Parser(parser.Parser):
    """For one text: looks read beside what is evaluated."""

    def parse(self, feeder):
        self.feeder = feeder
        self.tokeniser = _Tokeniser(feeder)
        self.current_token = None
        self.bracket_depth = self.box_depth = 0
        self._last, self._asked = None, 0
        return self.parse_e()

    def next(self):
        """Ends a text at which the parser stays for ever, as it does at some within boxes."""
        token = super().next()
        self._asked = self._asked + 1 if token is self._last else 0
        self._last = token
        if self._asked > ASKED:
            raise InvalidSyntaxError(*self.tokeniser.sntx_message(token.pos))
        return token
