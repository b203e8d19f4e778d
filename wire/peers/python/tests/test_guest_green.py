"""Programs on gevent, eventlet and uvloop, which replace threads, sockets and event loops by their own.

They are run where these packages are installed; the others of the tests do without.
"""

import importlib.util
import unittest

from tests.daemon import WAIT, until
from tests.guests import ProgramCase


def needs(package):
    return unittest.skipIf(importlib.util.find_spec(package) is None, 'the %s package is not installed' % package)


GREEN = """
%s
beats = 0
def beat():
    global beats
    while True:
        beats += 1
        sleep(0.005)
spawn(beat)
print('ready', flush=True)
while not stopped(): sleep(0.01)
"""

WAITING = """
import os, select, sys
poll = select.select
def stopped():
    return poll([0], [], [], 0)[0] and not os.read(0, 100)
"""

GEVENT = {
    'patched before': WAITING
    + 'from gevent import monkey; monkey.patch_all()\nfrom gevent import sleep, spawn\nimport imago\nimago.listen()',
    'patched after the import': WAITING
    + 'import imago\nfrom gevent import monkey; monkey.patch_all()\nfrom gevent import sleep, spawn\nimago.listen()',
    'patched while it listens': WAITING
    + 'import imago\nimago.listen()\nfrom gevent import monkey; monkey.patch_all()\nfrom gevent import sleep, spawn',
}

# Without its own DNS: where httpcore is installed, that imports it, and what truststore holds there stops the patching.
NO_GREENDNS = "import os; os.environ['EVENTLET_NO_GREENDNS'] = 'yes'\n"

EVENTLET = {
    'patched before': WAITING
    + NO_GREENDNS
    + 'import eventlet; eventlet.monkey_patch()\nfrom eventlet import sleep, spawn\nimport imago\nimago.listen()',
    'patched while it listens': WAITING
    + NO_GREENDNS
    + 'import imago\nimago.listen()\nimport eventlet; eventlet.monkey_patch()\nfrom eventlet import sleep, spawn',
}

QUIET = ('-W', 'ignore')

UVLOOP = """
import asyncio, imago, threading, uvloop
async def main():
    global loop, beats, loop_thread
    loop, beats, loop_thread = asyncio.get_running_loop(), 0, threading.get_ident()
    imago.listen(%s)
    async def beat():
        global beats
        while True:
            beats += 1
            await asyncio.sleep(0.005)
    task = asyncio.create_task(beat())
    await loop.run_in_executor(None, lambda: wait_for_end())
asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
asyncio.run(main())
"""


class Green(ProgramCase):
    def check(self, heads):
        for case, head in heads.items():
            with self.subTest(case):
                program = self.program(GREEN % head, options=QUIET)
                program.until_printed('ready')
                for _ in range(2):
                    link = program.attach()
                    self.check_served(link)
                    link.close()
                self.check_ends(program)

    def check_served(self, link):
        """Looks and evaluations, and the program going on meanwhile."""
        link.call('globals', modules=False, limit=10, deadline_ms=60_000).answer()
        call = link.start('before = beats\nprint("on")\nwhile beats < before + 10: pass\nbeats > before')
        self.assertEqual(call.answer()['values'][0]['repr']['text'], 'True')
        self.assertEqual(call.output(), 'on\n')
        # In evaluated code the names are what the program has made of them.
        self.assertEqual(link.evaluate('import time; time.sleep(0.01)')['type'], 'done')
        self.assertEqual(link.evaluate('import threading; threading.current_thread().name')['type'], 'done')
        waits = 'answer = []\nthread = threading.Thread(target=answer.append, args=(1,)); thread.start(); thread.join()'
        self.assertEqual(link.evaluate(waits)['type'], 'done')
        self.assertEqual(link.value('answer'), '[1]')

    def check_ends(self, program):
        # The link holds while the program's own code never waits, which lets no green thread run.
        link = program.attach()
        link.evaluate('def hold():\n    end = time.monotonic() + 1\n    while time.monotonic() < end: pass\nspawn(hold)')
        link.send({'type': 'ping', 'n': 1})
        self.assertEqual(link.pongs.get(timeout=WAIT)['n'], 1)
        self.assertEqual(program.end(), 0)
        self.assertEqual(program.said(), 'ready\n\n')
        self.assertEqual(program.announcements(), [])

    @needs('gevent')
    def test_a_program_on_gevent_is_served_whenever_it_replaced_what_it_replaces(self):
        self.check(GEVENT)

    @needs('eventlet')
    def test_a_program_on_eventlet_is_served_whenever_it_replaced_what_it_replaces(self):
        self.check(EVENTLET)

    @needs('gevent')
    def test_the_main_thread_is_known_while_it_stands_in_the_hub_of_gevent(self):
        program = self.program(
            'from gevent import monkey; monkey.patch_all()\nimport gevent, imago\nimago.listen()\n'
            'gevent.sleep(60)\n',
            options=QUIET,
        )
        link = program.attach()

        def main_stands_in_the_hub():
            looked = link.call('threads', limit=10, frames=10, locals=False, deadline_ms=60_000).answer()['value']
            mains = [one for one in looked['threads'] if one['role'] == 'main']
            self.assertEqual([one['names'] for one in mains], [['MainThread']])
            return mains[0]['frames'][0]['function'] == 'Hub.run'

        until(main_stands_in_the_hub)
        program.process.kill()

    @needs('gevent')
    def test_code_can_be_evaluated_on_the_hub_of_gevent_among_the_greenlets(self):
        head = (
            WAITING
            + 'from gevent import monkey; monkey.patch_all()\nimport gevent\nfrom gevent import sleep, spawn\n'
            + 'import imago\nhub = gevent.get_hub()\n'
            + 'imago.listen(evaluate=lambda work: hub.loop.run_callback_threadsafe(spawn, work))'
        )
        program = self.program(GREEN % head, options=QUIET)
        program.until_printed('ready')
        link = program.attach()
        self.assertEqual(link.value('gevent.get_hub() is hub'), 'True')
        call = link.start('before = beats\nprint("on")\nwhile beats < before + 10: sleep(0.01)\nbeats > before')
        self.assertEqual(call.answer()['values'][0]['repr']['text'], 'True')
        self.assertEqual(call.output(), 'on\n')
        self.assertEqual(program.end(), 0)

    @needs('gevent')
    def test_a_green_program_that_forks_has_a_child_that_serves_nothing(self):
        program = self.program(
            GREEN % (GEVENT['patched before'] + '\nchild = os.fork()\nif child == 0: os._exit(3)'), options=QUIET
        )
        program.until_printed('ready')
        link = program.attach()
        until(lambda: link.value('os.waitpid(child, os.WNOHANG)[0] in (0, child)') == 'True')
        self.assertEqual(link.value('1+1'), '2')


class Loops(ProgramCase):
    @needs('uvloop')
    def test_a_program_on_uvloop_is_served_beside_its_loop_and_on_it(self):
        for place in ('', 'evaluate="loop"'):
            with self.subTest(place):
                program = self.program(UVLOOP % place, options=QUIET)
                link = program.attach()
                self.assertEqual(link.value('type(loop).__module__'), "'uvloop'")
                link.evaluate('async def where():\n    print("there"); return threading.get_ident() == loop_thread')
                call = link.start('await where()')
                self.assertEqual(call.answer()['values'][0]['repr']['text'], 'True')
                self.assertEqual(call.output(), 'there\n')
                before = int(link.value('beats'))
                until(lambda: int(link.value('beats')) > before + 5)
                self.assertEqual(program.end(), 0)
                self.assertEqual(program.said(), '\n')
