"""What is kept of errors holds no secret that a name or a form tells; the forms are tested with Wolfram's peer too."""

import json
import unittest
from pathlib import Path

from imago.error_record import without_secrets
from imago.redaction import redacted_with_names

SHARED = json.loads(Path(__file__).parents[4].joinpath('test/journal/secrets.json').read_text(encoding='utf-8'))


def made(*parts):
    """A number stands for so many letters."""
    return ''.join((SHARED['letters'] * 4)[:part] if isinstance(part, int) else part for part in parts)


class TestRedaction(unittest.TestCase):
    def test_each_known_form_is_marked_in_a_text(self):
        for kind, *parts in SHARED['forms']:
            secret = made(*parts)
            with self.subTest(secret):
                self.assertEqual(
                    'x = [redacted: %s, %d characters] here' % (kind, len(secret)),
                    redacted_with_names('x = %s here' % secret),
                )

    def test_what_a_text_gives_to_a_secret_name_in_quotes_is_marked_and_what_speaks_of_one_is_not(self):
        for before, after in (
            ("{'password': 'pw-1', 'user': 'ada'}", "{'password': '[redacted: password, 4 characters]', 'user': 'ada'}"),
            ('api_key="k-12"', 'api_key="[redacted: api key, 4 characters]"'),
            ("Login(db_password=b'x\\'y', n=1)", "Login(db_password=b'[redacted: password, 4 characters]', n=1)"),
            ("{'token': 'abcdefgh…", "{'token': '[redacted: token, 9 characters]"),
            ("token_count = 'seven'", "token_count = 'seven'"),
            ("{'password': None}", "{'password': None}"),
            ("password = '%s'", "password = '%s'"),
        ):
            with self.subTest(before):
                self.assertEqual(after, redacted_with_names(before))

    def test_a_variable_whose_name_says_secret_has_a_mark_for_its_value(self):
        shown = {'name': 'session_token', 'type_name': 'str', 'repr': "'abcdefghijk'"}
        plain = {'name': 'order', 'type_name': 'dict', 'repr': "{'n': 1}"}
        self.assertEqual(
            [{**shown, 'repr': '[redacted: token, 13 characters]'}, plain], without_secrets([shown, plain])
        )


if __name__ == '__main__':
    unittest.main()
