"""``imago.listen()`` in programs that another tool runs, and where there is no place to listen."""

import os

from tests.guests import ProgramCase

#: What pydevd, the debugger of VS Code and PyCharm, does to a program before it begins.
DEBUGGED = """
import _thread, sys
_thread._original_start_new_thread = start = _thread.start_new_thread
settrace = sys.settrace

def trace(frame, event, argument):
    return trace

def start_traced(work, arguments=(), kwargs={}):
    def run():
        settrace(trace)
        work(*arguments, **kwargs)
    return start(run, ())

def warn(hook):
    sys.stderr.write('settrace() should not be used\\n')
    settrace(hook)

_thread.start_new_thread = start_traced
sys.settrace = warn

import imago
imago.listen()
wait_for_end()
"""


class Tools(ProgramCase):
    def test_evaluated_code_sees_the_names_of_a_program_that_a_profiler_runs(self):
        source = 'import imago\nmine = 1\nimago.listen()\nwait_for_end()'
        link = self.program(source, options=['-m', 'cProfile']).attach()
        self.assertEqual(link.value('mine, __name__'), "(1, '__main__')")
        self.assertEqual(link.evaluate('runctx')['type'], 'raised')

    def test_a_debugger_of_the_programs_neither_traces_our_threads_nor_is_disturbed(self):
        program = self.program(DEBUGGED)
        link = program.attach()
        link.call('threads', limit=10, frames=10, locals=True, deadline_ms=5000).answer()
        self.assertEqual(link.value('sys.gettrace()'), 'None')
        self.assertEqual(program.end(), 0)
        self.assertEqual(bytes(program.printed[2]), b'')


POOL = """
import imago, sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

def whoami(_):
    return imago.listen().name

if __name__ == '__main__':
    for way in 'fork', 'spawn', 'forkserver':
        with ProcessPoolExecutor(1, get_context(way), imago.listen, ('worker',)) as pool:
            print(way, *pool.map(whoami, [0]), flush=True)
"""


class Pools(ProgramCase):
    def test_workers_of_a_pool_that_begin_by_listening_take_it_back_when_they_end(self):
        program = self.program(POOL)
        self.assertEqual(program.end(), 0)
        self.assertEqual(program.said(), 'fork worker\nspawn worker\nforkserver worker\n\n')
        self.assertEqual(bytes(program.printed[2]), b'')
        self.assertEqual(os.listdir(os.path.join(program.runtime, 'programs')), [])


class Places(ProgramCase):
    def test_a_runtime_directory_that_cannot_be_made_is_named_with_what_to_do(self):
        program = self.program(
            'import imago, os\n'
            'open("file", "w").close()\n'
            'os.environ.update(IMAGO_RUNTIME_DIR="", XDG_RUNTIME_DIR=os.path.abspath("file/run"))\n'
            'try: imago.listen()\n'
            'except OSError as error: print(error, flush=True)\n'
        )
        program.end()
        self.assertRegex(program.said(), 'the runtime directory .*/file/run/imago cannot be made: .*file.*; set IMAGO')
