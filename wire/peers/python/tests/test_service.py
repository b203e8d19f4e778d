"""Looks, as the link asks for them."""

import unittest

from tests.daemon import Kernel, KernelCase, until


class Looking(KernelCase):
    def look(self, method, **params):
        return self.link.call(method, **dict({'deadline_ms': 60_000}, **params)).answer()

    def test_values_are_told_without_running_code(self):
        self.link.evaluate('numbers = list(range(100)); apple = 1')
        found = self.look('globals', modules=False, limit=100)
        names = {row['name']: row['type_name'] for row in found['value']['globals']}
        self.assertEqual((names['apple'], names['numbers']), ('int', 'list'))
        found = self.look('inspect', expr='numbers')
        self.assertEqual(found['type'], 'found')
        self.assertEqual(found['value']['kind'], 'sequence')

    def test_looks_that_hang_take_only_themselves_away(self):
        self.link.evaluate(
            'import imago.looking, threading\nkept, stop = imago.looking.inspect_static, threading.Event()\n'
            'imago.looking.inspect_static = lambda *_: stop.wait() and {"type": "not_found", "what": "", "nearest": []}'
        )
        hung = [self.link.call('inspect', expr='1', deadline_ms=300) for _ in range(20)]
        self.assertEqual({call.answer()['type'] for call in hung}, {'timed_out'})
        many = [self.link.call('globals', modules=True, limit=10, deadline_ms=60_000) for _ in range(200)]
        self.assertEqual({call.answer()['type'] for call in many}, {'found'})
        self.link.evaluate('stop.set(); imago.looking.inspect_static = kept')
        self.assertEqual(self.look('inspect', expr='1')['type'], 'found')

    def test_looks_work_while_code_runs(self):
        self.link.evaluate('numbers = [1]')
        call = self.link.start('print("on")\nwhile True: len("")')
        call.until_printed('on')
        self.assertEqual(self.look('inspect', expr='numbers')['type'], 'found')
        self.assertEqual(self.look('globals', modules=False, limit=1)['type'], 'found')
        call.cancel()
        call.answer()

    def test_a_handle_of_a_result_leads_back_to_the_value(self):
        handle = self.link.evaluate('list(range(1000))')['values'][0]['handle']
        self.assertTrue(handle.startswith('@%s.' % self.link.hello['epoch'][:4]))
        self.assertEqual(self.look('inspect', expr=handle)['value']['size']['len'], 1000)
        self.assertEqual(self.look('more', handle='@ffff.1', **{'from': 0, 'count': 10})['type'], 'stale_handle')

    def test_parameters_of_the_wrong_form_are_refused_by_name(self):
        for method, params in (
            ('globals', {'modules': 1, 'limit': 5, 'deadline_ms': 100}),
            ('globals', {'modules': True, 'limit': -5, 'deadline_ms': 100}),
            ('inspect', {'expr': None, 'deadline_ms': 100}),
            ('inspect', {'expr': 'x'}),
            ('more', {'handle': '@x', 'from': 'a', 'count': 1, 'deadline_ms': 100}),
            ('interrupt', {}),
        ):
            self.assertEqual(self.link.call(method, **params).failure()['code'], 'invalid_params', method)


class Beside(unittest.TestCase):
    def test_looking_works_while_a_script_holds_the_main_thread(self):
        with Kernel(script='import time\nstate = {"a": 1}\nwhile True: time.sleep(0.01)\n') as kernel:
            def found():
                answer = kernel.link.call('inspect', expr='state["a"]', deadline_ms=60_000).answer()
                return answer['type'] == 'found' and answer['value']['repr']['text'] == '1'

            until(found)
            self.assertEqual(kernel.link.value('1'), '1')
