"""Errors that a program only prints, that Python ignores, and that nobody takes out of a future."""

import unittest

from tests.guests import Program
from tests.test_program_errors import SHOP


class TestPrinted(unittest.TestCase):
    maxDiff = None

    def errors(self, source):
        with Program(SHOP + source + '\nprint("ready", flush=True)\nwait_for_end()\n') as program:
            program.until_printed('ready')
            return program.attach().call('errors', count=20, deadline_ms=60_000).answer()['value']['errors']

    def test_what_a_program_prints_with_its_traceback_is_one_and_what_it_logs_is_not_told_again(self):
        source = '''
import http.client, http.server, io, traceback

class Shop(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        price(self.path[1:])

server = http.server.HTTPServer(('127.0.0.1', 0), Shop)
threading.Thread(target=server.serve_forever, daemon=True).start()
asked = http.client.HTTPConnection('127.0.0.1', server.server_port)
asked.request('GET', '/pie')
try:
    asked.getresponse()
except http.client.RemoteDisconnected:
    pass
server.shutdown()

def sold(item, tell):
    try:
        price(item)
    except KeyError:
        tell()

try:
    price('cake')
except KeyError:
    traceback.format_exc()
stream = logging.StreamHandler(io.StringIO())
loud = logging.getLogger('loud')
loud.addHandler(stream)
loud.addHandler(logging.StreamHandler(io.StringIO()))
for _ in range(2):
    sold('bread', lambda: loud.exception('no bread'))
try:
    raise KeyboardInterrupt
except KeyboardInterrupt:
    traceback.print_exc()
'''
        told = [(one['kind'], one['where'], one['times'], one['error']['message']) for one in self.errors(source)]
        self.assertEqual(
            [
                ('logged', 'thread MainThread', 2, "'bread'"),
                ('printed', 'thread MainThread', 1, "'cake'"),
                ('printed', 'request GET /pie', 1, "'pie'"),
            ],
            told,
        )

    def test_exceptions_in_finished_futures_and_tasks_that_nobody_took_are_counted_and_can_be_inspected(self):
        source = '''
import asyncio
from concurrent.futures import Future, ThreadPoolExecutor
pool = ThreadPoolExecutor(1)
kept = [pool.submit(price, item) for item in ('tea', 'pie', 'cake')]
jobs = {'bread': pool.submit(price, 'bread')}
heard = pool.submit(price, 'told')
heard.add_done_callback(lambda one: one.exception())
class Mine(Future):
    def __getattribute__(self, name):
        raise SystemExit('code of the program has run')
mine = Mine.__new__(Mine)
pool.shutdown()
for one in kept[2:]:
    try:
        one.result()
    except KeyError:
        pass

async def sell(item):
    return price(item)

async def main():
    lost, read = asyncio.ensure_future(sell('salt')), asyncio.ensure_future(sell('oil'))
    await asyncio.wait([lost, read])
    read.exception()
    return {'lost': lost, 'read': read}

tasks = asyncio.run(main())
print('ready', flush=True)
wait_for_end()
'''
        with Program(SHOP + source) as program:
            program.until_printed('ready')
            link = program.attach()
            asked = link.call('errors', count=20, unread=True, deadline_ms=60_000)
            found = asked.answer()['value']['unread']
            self.assertEqual(3, found['count'])
            named = {one['expr']: one['what'].partition(' (')[0] for one in found['named']}
            told = {'kept[1]': "KeyError: 'pie'", "jobs['bread']": "KeyError: 'bread'", "tasks['lost']": "KeyError: 'salt'"}
            self.assertEqual(told, named)
            self.assertNotIn('unread', link.call('errors', count=20, deadline_ms=60_000).answer()['value'])

    def test_a_search_of_futures_that_has_no_time_says_so(self):
        source = """
import concurrent.futures
from imago import unread_errors
unread_errors.PATIENCE = -1
"""
        with Program(SHOP + source + "print('ready', flush=True)\nwait_for_end()\n") as program:
            program.until_printed('ready')
            found = program.attach().call('errors', count=20, unread=True, deadline_ms=60_000).answer()['value']['unread']
        self.assertEqual({'count': 0, 'named': [], 'cut': True}, found)

    def test_what_python_can_only_ignore_is_one_and_its_hook_is_called_as_before(self):
        source = '''
heard = []
sys.unraisablehook = lambda args, before=sys.unraisablehook: (heard.append(args.exc_type), before(args))

class Till:
    def __del__(self):
        price('pie')

till = Till()
del till
assert heard == [KeyError], heard
'''
        [one] = self.errors(source)
        self.assertEqual(('unraisable', "'pie'"), (one['kind'], one['error']['message']))


if __name__ == '__main__':
    unittest.main()
