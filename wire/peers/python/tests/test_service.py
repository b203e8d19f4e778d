"""Looks, as the link asks for them."""

import unittest

from tests.daemon import WAIT, Kernel, KernelCase, until


class Looking(KernelCase):
    def look(self, method, **params):
        return self.link.call(method, **dict({'deadline_ms': 60_000}, **params)).answer()

    def test_values_are_told_without_running_code_unless_that_was_asked_for(self):
        self.link.evaluate('numbers = list(range(100)); apple = 1')
        found = self.look('globals', modules=False, limit=100)
        names = {row['name']: row['type_name'] for row in found['value']['globals']}
        self.assertEqual((names['apple'], names['numbers']), ('int', 'list'))
        found = self.look('inspect', expr='numbers', evaluate=False)
        self.assertEqual(found['type'], 'found')
        self.assertEqual((found['value']['kind'], found['value']['read']), ('sequence', 'static'))
        found = self.look('inspect', expr='sum(numbers)', evaluate=True)
        self.assertEqual((found['value']['read'], found['value']['repr']['text']), ('evaluated', '4950'))
        awaited = self.look('inspect', expr='await __import__("asyncio").sleep(0, 7)', evaluate=True)
        self.assertEqual(awaited['value']['repr']['text'], '7')

    def test_a_name_that_takes_code_begins_with_a_loaded_module_that_nobody_imported(self):
        self.link.evaluate('__import__("xml.dom.minidom")')
        found = self.look('inspect', expr='xml.dom.minidom.Document().nodeType', evaluate=True)
        self.assertEqual(('found', '9'), (found['type'], found['value']['repr']['text']))
        self.assertEqual('raised', self.look('inspect', expr='nothing.dom.minidom()', evaluate=True)['type'])

    def test_an_expression_that_raises_is_reported_as_raised(self):
        raised = self.look('inspect', expr='1/0', evaluate=True)
        self.assertEqual((raised['type'], raised['exception']['type']['name']), ('raised', 'ZeroDivisionError'))
        self.assertEqual(self.look('inspect', expr='exit()', evaluate=True)['type'], 'raised')
        self.assertEqual(self.link.value('1'), '1')

    def test_an_expression_that_never_returns_is_stopped_at_its_deadline(self):
        late = self.look('inspect', expr='[n for n in iter(int, 1)]', evaluate=True, deadline_ms=300)
        self.assertEqual(late['type'], 'timed_out')
        self.assertEqual(self.link.value('"free again"'), "'free again'")

    def test_looks_that_hang_take_only_themselves_away(self):
        self.link.evaluate(
            'import imago.looking, threading\nkept, stop = imago.looking.inspect_static, threading.Event()\n'
            'imago.looking.inspect_static = lambda *_: stop.wait() and {"type": "not_found", "what": "", "nearest": []}'
        )
        hung = [self.link.call('inspect', expr='1', evaluate=False, deadline_ms=300) for _ in range(20)]
        self.assertEqual({call.answer()['type'] for call in hung}, {'timed_out'})
        many = [self.link.call('globals', modules=True, limit=10, deadline_ms=60_000) for _ in range(200)]
        self.assertEqual({call.answer()['type'] for call in many}, {'found'})
        self.link.evaluate('stop.set(); imago.looking.inspect_static = kept')
        self.assertEqual(self.look('inspect', expr='1', evaluate=False)['type'], 'found')

    def test_an_evaluated_look_answers_busy_while_code_runs_and_static_ones_still_work(self):
        self.link.evaluate('numbers = [1]')
        call = self.link.start('print("on")\nwhile True: len("")')
        call.until_printed('on')
        busy = self.look('inspect', expr='len(numbers)', evaluate=True)
        self.assertEqual((busy['type'], busy['call']), ('busy', call.name))
        self.assertEqual(self.look('inspect', expr='numbers', evaluate=False)['type'], 'found')
        self.assertEqual(self.look('globals', modules=False, limit=1)['type'], 'found')
        call.cancel()
        call.answer()

    def test_a_handle_of_a_result_leads_back_to_the_value(self):
        handle = self.link.evaluate('list(range(1000))')['values'][0]['handle']
        self.assertTrue(handle.startswith('@%s.' % self.link.hello['epoch'][:4]))
        self.assertEqual(self.look('inspect', expr=handle, evaluate=False)['value']['size']['len'], 1000)
        self.assertEqual(self.look('more', handle='@ffff.1', **{'from': 0, 'count': 10})['type'], 'stale_handle')

    def test_what_a_look_prints_belongs_to_no_evaluation(self):
        self.look('inspect', expr='print("peeked")', evaluate=True)
        self.assertEqual(self.link.notes.get(timeout=WAIT)['params']['text'], 'peeked\n')

    def test_parameters_of_the_wrong_form_are_refused_by_name(self):
        for method, params in (
            ('globals', {'modules': 1, 'limit': 5, 'deadline_ms': 100}),
            ('globals', {'modules': True, 'limit': -5, 'deadline_ms': 100}),
            ('inspect', {'expr': None, 'evaluate': False, 'deadline_ms': 100}),
            ('inspect', {'expr': 'x', 'evaluate': False}),
            ('more', {'handle': '@x', 'from': 'a', 'count': 1, 'deadline_ms': 100}),
            ('interrupt', {}),
        ):
            self.assertEqual(self.link.call(method, **params).failure()['code'], 'invalid_params', method)


class Beside(unittest.TestCase):
    def test_looking_works_while_a_script_holds_the_main_thread(self):
        with Kernel(script='import time\nstate = {"a": 1}\nwhile True: time.sleep(0.01)\n') as kernel:
            def found():
                answer = kernel.link.call('inspect', expr='state["a"]', evaluate=False, deadline_ms=60_000).answer()
                return answer['type'] == 'found' and answer['value']['repr']['text'] == '1'

            until(found)
            evaluated = kernel.link.call('inspect', expr='len(state)', evaluate=True, deadline_ms=60_000).answer()
            self.assertEqual(evaluated['value']['repr']['text'], '1')
            endless = '[n for n in iter(int, 1)]'
            late = kernel.link.call('inspect', expr=endless, evaluate=True, deadline_ms=300).answer()
            self.assertEqual(late['type'], 'timed_out')
            self.assertEqual(kernel.link.value('1'), '1')
