import sys

from tests.suspending_support import SuspendingCase


class Theirs(SuspendingCase):
    def tearDown(self):
        for name in ('last_exc', 'last_value'):
            sys.__dict__.pop(name, None)

    def leave_behind(self):
        def mine(amount):
            raise LookupError('at the prompt')

        try:
            mine(5)
        except LookupError as error:
            sys.last_value = error

    def test_an_error_at_the_persons_prompt_is_told_of_and_adopted_on_their_word(self):
        self.assertEqual(self.guest.look('theirs')['value'], {'errors': []})
        self.leave_behind()
        (told,) = self.guest.look('theirs')['value']['errors']
        self.assertEqual((told['type']['name'], told['message']), ('LookupError', 'at the prompt'))
        self.assertEqual(self.live(), [])
        adopted = self.guest.look('adopt', id=told['id'], lease_ms=60_000)['value']
        self.assertEqual((adopted['call'], adopted['how']), (None, 'post_mortem'))
        self.assertEqual(self.guest.look('adopt', id=told['id'], lease_ms=60_000)['value']['id'], adopted['id'])
        self.assertEqual(self.value_in(adopted['id'], 'amount + 1'), '6')
        self.assertEqual([one['name'] for one in self.state(adopted['id'])['restarts']], ['abort'])
        self.leave_behind()
        gone = self.guest.look('adopt', id=told['id'], lease_ms=60_000)
        self.assertEqual((gone['type'], len(gone['nearest'])), ('not_found', 1))

    def test_what_was_raised_in_an_evaluation_of_imagos_is_not_theirs(self):
        self.guest.evaluate('import sys\ntry: 1 / 0\nexcept ZeroDivisionError as error: sys.last_value = error')
        self.assertEqual(self.guest.look('theirs')['value'], {'errors': []})
