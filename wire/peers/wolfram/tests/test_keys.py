"""Secrets are told by their forms and names as the journal tells them: both read one list of examples."""

import json
import unittest
from pathlib import Path

from imago_wolfram.expressions import String, Symbol, system
from imago_wolfram.keys import Redactor, redacted, secret_named

SHARED = json.loads(Path(__file__).parents[4].joinpath("test/journal/secrets.json").read_text(encoding="utf-8"))


def made(*parts):
    """A number stands for so many letters."""
    return "".join((SHARED["letters"] * 4)[:part] if isinstance(part, int) else part for part in parts)


def mark(kind, secret):
    return f"[redacted: {kind}, {len(secret)} characters]"


class Keys(unittest.TestCase):
    def test_each_form_is_marked_wherever_it_stands_with_its_length(self):
        for kind, *parts in SHARED["forms"]:
            secret = made(*parts)
            for before, after in (("", ""), ("x = f('", "')  # call"), ("say ", " twice"), ('{"note": "', '"}')):
                with self.subTest(secret, before=before):
                    self.assertEqual(redacted(before + secret + after), before + mark(kind, secret) + after)
            self.assertEqual(redacted(f"{secret} {secret}"), f"{mark(kind, secret)} {mark(kind, secret)}")

    def test_passwords_of_urls_are_marked_and_marks_stay(self):
        for text in SHARED["urls"]:
            marked = text.replace("~", mark("password in a URL", "hunter2"))
            self.assertEqual(redacted(text.replace("~", "hunter2")), marked)
            self.assertEqual(redacted(marked), marked)

    def test_ordinary_texts_stay(self):
        for text in SHARED["ordinary"]:
            self.assertEqual(redacted(text), text)

    def test_a_name_says_which_kind_of_secret_stands_under_it_or_that_none_does(self):
        for kind, names in SHARED["named"].items():
            self.assertEqual({name: secret_named(name) for name in names}, dict.fromkeys(names, kind))
        self.assertEqual({secret_named(name) for name in SHARED["unnamed"]}, {None})

    def test_what_stands_under_such_a_name_is_marked_unless_it_tells_nothing(self):
        for name, value, kind in (
            ("dbPassword", "x", "password"),
            ("dbPassword", "", None),
            ("dbPassword", "${DB_PASSWORD}", None),
            ("token", "abcdefgh1", "token"),
            ("token", "(", None),
            ("token", "a word of prose", None),
            ("sessionCookie", "sid=abc;a=b", "cookie"),
        ):
            for named in (Symbol("Global`" + name), String(name)):
                redactor = Redactor()
                shown = redactor.expression(system("Rule", named, String(value)))
                self.assertEqual(shown.arguments[1], String(value if kind is None else mark(kind, value)))
                self.assertEqual(redactor.count, int(kind is not None))

    def test_a_long_text_of_one_piece_over_and_over_takes_no_longer_than_its_length_allows(self):
        # A quadratic search would take hours.
        pieces = "eyJ", "eyJaaaaaaaa.", "sk-", "sk-a", "://", "://a:", "bearer ", "ghp_", "-----BEGIN PRIVATE KEY-----"
        for piece in pieces:
            redacted(piece * (300_000 // len(piece)))


if __name__ == "__main__":
    unittest.main()
