"""The errors that a program has by itself, as the look ``errors`` tells them."""

import asyncio
import json
import os
import unittest

from tests.daemon import LONG, WAIT, Kernel, until
from tests.guests import Program

SHOP = '''
import asyncio, logging, sys, threading
import imago

logging.getLogger('quiet').addHandler(logging.NullHandler())
logging.getLogger('quiet').propagate = False
listener = imago.listen('shop', namespace=globals())

def price(item):
    rate = {'tea': 2}
    return rate[item]

def in_thread():
    price('cake')

def logged(times=1):
    for _ in range(times):
        try:
            price('pie')
        except KeyError:
            logging.getLogger('quiet').exception('could not sell %s', 'pie')

async def task():
    price('scone')

async def main():
    made = asyncio.get_running_loop().create_task(task(), name='baker')
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    del made
'''

#: What stands in the program's hooks, and all that its classes have.
HOOKS = '''
import logging, sys, threading
def hooks():
    return sys.excepthook, threading.excepthook, logging.getLogRecordFactory()
def classes():
    return [dict(vars(one)) for one in (logging.Logger, logging.Handler, logging.LogRecord, threading.Thread)]
before, known, handlers = hooks(), classes(), list(logging.root.handlers)
def fails():
    thread = threading.Thread(target=in_thread)
    thread.start()
    thread.join()
'''

#: What the error reporters do that are in use: they chain the hooks, run threads themselves, and see each record that a
#: logger handles.
REPORTER = '''
seen = []
%s
def main(kind, error, trace, before=sys.excepthook):
    seen.append(('main', kind.__name__, error, trace))
    before(kind, error, trace)

def thread(args, before=threading.excepthook):
    seen.append(('thread', args.exc_type.__name__, args.exc_value, args.exc_traceback))
    before(args)

def start(thread, before=threading.Thread.start):
    def watched(run=thread.run):
        try:
            run()
        except Exception as error:
            seen.append(('run', type(error).__name__, error, None))
            raise
    thread.run = watched
    before(thread)

def handle(logger, record, before=logging.Logger.callHandlers):
    seen.append((logger.name, record.getMessage(), record.funcName, record.exc_info[0].__name__))
    before(logger, record)

sys.excepthook, threading.excepthook, logging.Logger.callHandlers = main, thread, handle
threading.Thread.start = start
if listener.address is None:
    listener = imago.listen('shop', namespace=globals())

logged()
ends = threading.Thread(target=in_thread); ends.start(); ends.join()
try:
    1 / 0
except ZeroDivisionError as error:
    sys.excepthook(type(error), error, error.__traceback__)
told = [one[:2] for one in seen]
assert told == [('quiet', 'could not sell pie'), ('run', 'KeyError'), ('thread', 'KeyError'), ('main', 'ZeroDivisionError')]
assert seen[0][2:] == ('logged', 'KeyError'), seen
assert all(one[3] is one[2].__traceback__ for one in seen[2:]), seen
'''


class TestErrorsOfTheProgram(unittest.TestCase):
    def errors(self, source, count=20, ready='ready'):
        with Program(SHOP + source + '\nprint("%s", flush=True)\nwait_for_end()\n' % ready) as program:
            program.until_printed(ready)
            link = program.attach()
            return link.call('errors', count=count, deadline_ms=60_000).answer()['value']

    def test_what_ends_a_thread_is_one_with_its_frames_and_locals(self):
        found = self.errors("thread = threading.Thread(target=in_thread, name='till'); thread.start(); thread.join()")
        [one] = found['errors']
        self.assertEqual(('uncaught', 'thread till', 1), (one['kind'], one['where'], one['times']))
        self.assertEqual('KeyError', one['error']['type']['name'])
        innermost = one['error']['frames'][-1]
        self.assertEqual('price', innermost['function'])
        self.assertIn('item', [local['name'] for local in innermost['locals']])

    def test_a_source_that_cannot_be_compiled_is_told_with_its_place(self):
        source = "compile('tea = 1\\ncake = = 2\\n', 'shop/orders.py', 'exec')"
        found = self.errors('thread = threading.Thread(target=lambda: %s); thread.start(); thread.join()' % source)
        [one] = found['errors']
        place = '  File "shop/orders.py", line 2\n    cake = = 2\n'
        self.assertEqual(place, one['error']['beside_frames'])
        place += 'SyntaxError: invalid syntax\n'
        self.assertTrue(one['error']['traceback'].endswith(place), one['error']['traceback'])

    def test_what_is_logged_is_one_also_where_the_logger_does_not_propagate(self):
        [one] = self.errors('logged()')['errors']
        self.assertEqual(('logged', 'thread MainThread'), (one['kind'], one['where']))
        self.assertEqual('could not sell pie', one['said'])

    def test_what_is_logged_has_plain_values_put_in_and_of_others_the_type_without_running_their_code(self):
        source = '''
class Cake:
    def __str__(self): os._exit(1)
def log(kind, message, *given):
    try:
        raise kind
    except kind:
        logging.getLogger('quiet').exception(message, *given)
log(KeyError, '%s %d of %s', 'no', 2, Cake())
log(TypeError, '%(name)s', {'name': 1})
log(OSError, '100 % of it')
'''
        said = [one['said'] for one in self.errors(source)['errors']]
        self.assertEqual(['100 % of it', '%(name)s', 'no 2 of <__main__.Cake>'], said)

    def test_what_a_task_ends_with_is_one(self):
        [one] = self.errors('asyncio.run(main()); import gc; gc.collect()')['errors']
        self.assertEqual(('KeyError', 'task baker'), (one['error']['type']['name'], one['where']))
        self.assertIn('task', one['error']['frames'][-2]['function'])

    def test_a_task_of_a_caller_is_none_and_one_of_the_program_that_is_collected_in_an_evaluation_is(self):
        source = '''
loop = asyncio.new_event_loop()
left = []
def make(name):
    left.append(loop.create_task(task(), name=name))
    loop.run_until_complete(asyncio.sleep(0.01))
make('baker')
print("ready", flush=True)
wait_for_end()
'''
        with Program(SHOP + source) as program:
            program.until_printed('ready')
            link = program.attach()
            link.evaluate('left.clear()')
            link.evaluate('make("of the caller")')
            link.evaluate('drops = threading.Thread(target=left.clear); drops.start(); drops.join()')
            program.until_printed("name='of the caller'", 2)
            found = link.call('errors', count=20, deadline_ms=60_000).answer()['value']
            self.assertEqual(['task baker'], [one['where'] for one in found['errors']])

    @unittest.skipUnless(hasattr(asyncio, 'TaskGroup'), 'comes with Python 3.11')
    def test_a_group_of_exceptions_shows_the_traceback_of_each_of_them(self):
        source = '''
async def both():
    async with asyncio.TaskGroup() as group:
        group.create_task(task())
        group.create_task(task())
def run():
    asyncio.run(both())
ends = threading.Thread(target=run); ends.start(); ends.join()
'''
        [one] = self.errors(source)['errors']
        self.assertEqual('ExceptionGroup', one['error']['type']['name'])
        told = one['error']['traceback']
        self.assertEqual((1, 1, 2), tuple(map(told.count, ('1 of 2', '2 of 2', "  KeyError: 'scone'"))), told)
        self.assertTrue(told.endswith(one['error']['beside_frames']), one['error']['beside_frames'])

    def test_an_error_that_a_task_logs_says_which_task_it_was(self):
        source = '''
async def bake():
    logged()

async def both():
    await asyncio.gather(asyncio.create_task(bake(), name='baker'))
asyncio.run(both())
'''
        [one] = self.errors(source)['errors']
        self.assertEqual(('logged', 'task baker'), (one['kind'], one['where']))

    def test_locals_are_shown_from_what_they_store_twenty_of_a_frame_and_each_cut(self):
        source = '''
class Loud:
    def __repr__(self): ran.append('repr')
ran, loud = [], Loud()
exec('def fails(loud):\\n    long = 50_000 * "x"\\n' + ''.join('    v%d = %d\\n' % (n, n) for n in range(30)) + '    1 / 0')
try:
    fails(loud)
except ZeroDivisionError:
    logging.exception('loud')
assert ran == [], ran
'''
        [one] = self.errors(source)['errors']
        frame = one['error']['frames'][-1]
        self.assertEqual((20, 12), (len(frame['locals']), frame['locals_omitted']))
        self.assertIn('Loud', frame['locals'][0]['repr'])
        self.assertLess(max(len(local['repr']) for local in frame['locals']), 300)

    def test_an_object_of_a_library_that_does_not_fit_is_told_by_its_class_and_one_of_the_program_as_far_as_it_fits(self):
        source = '''
import argparse
class Order(argparse.Namespace): pass
fields = {'field_%d' % number: 'x' * 30 for number in range(9)}
def fails(parsed, small, order):
    1 / 0
try:
    fails(argparse.Namespace(**fields), argparse.Namespace(tea=2), Order(**fields))
except ZeroDivisionError:
    logging.exception('loud')
'''
        [one] = self.errors(source)['errors']
        parsed, small, order = [local['repr'] for local in one['error']['frames'][-1]['locals']]
        self.assertEqual(('<Namespace …>', '<argparse.Namespace tea=2>'), (parsed, small))
        self.assertIn("Order field_0='xxx", order)
        self.assertEqual(200, len(order))

    def test_one_that_is_logged_and_then_uncaught_counts_once(self):
        source = '''
def sells():
    try:
        price('bun')
    except KeyError:
        logging.getLogger('quiet').exception('logged first')
        raise
thread = threading.Thread(target=sells, name='till'); thread.start(); thread.join()
'''
        found = self.errors(source)
        self.assertEqual([('thread till', 1)], [(one['where'], one['times']) for one in found['errors']])
        self.assertEqual(1, found['total'])

    def test_one_that_is_raised_from_another_has_that_as_its_cause_and_counts_once_for_both(self):
        source = '''
def sells(item):
    try:
        price(item)
    except KeyError as error:
        logging.getLogger('quiet').exception('logged first')
        raise LookupError('no such item') from error
logged()
for item in ('bun', 'roll'):
    thread = threading.Thread(target=sells, args=(item,)); thread.start(); thread.join()
'''
        found = self.errors(source)
        told = [(one['error']['type']['name'], one['times']) for one in found['errors']]
        self.assertEqual([('LookupError', 2), ('KeyError', 1)], told)
        self.assertEqual(3, found['total'])
        cause = found['errors'][0]['error']['cause']
        self.assertEqual(('cause', "'roll'"), (cause['how'], cause['exception']['message']))

    def test_an_exception_that_is_told_of_twice_counts_once(self):
        source = '''
try:
    price('bun')
except KeyError as error:
    logging.getLogger('quiet').exception('once')
    logging.getLogger('quiet.other').error('again', exc_info=error)
'''
        found = self.errors(source)
        self.assertEqual([(1, 1)], [(one['number'], one['times']) for one in found['errors']])

    def test_one_that_comes_again_is_counted_keeps_its_number_and_the_newest_is_first(self):
        found = self.errors('logged(3); thread = threading.Thread(target=lambda: 1 / 0); thread.start(); thread.join()')
        self.assertEqual(
            [('ZeroDivisionError', 2, 1), ('KeyError', 1, 3)],
            [(one['error']['type']['name'], one['number'], one['times']) for one in found['errors']],
        )
        self.assertEqual(4, found['total'])

    def test_errors_of_one_line_that_was_reached_on_other_ways_are_each_one(self):
        source = '''
def cart():
    price('cart')
def invoice():
    price('invoice')
for fails in (cart, invoice, cart):
    thread = threading.Thread(target=fails, name='till'); thread.start(); thread.join()
for name in ('worker-1', 'worker-2', 'other'):
    thread = threading.Thread(target=invoice, name=name); thread.start(); thread.join()
logged()
asyncio.run(main()); import gc; gc.collect()
'''
        found = self.errors(source)
        told = [(one['where'], one['error']['message'], one['times']) for one in found['errors']]
        expected = [
            ('task baker', "'scone'", 1),
            ('thread MainThread', "'pie'", 1),
            ('thread other', "'invoice'", 1),
            ('thread worker-2', "'invoice'", 2),
            ('thread till', "'cart'", 2),
            ('thread till', "'invoice'", 1),
        ]
        self.assertEqual(expected, told)
        self.assertEqual(8, found['total'])

    def test_what_tasks_of_two_functions_log_in_one_place_is_two_errors(self):
        source = '''
async def bake():
    logged()
async def brew():
    logged()
async def all_of_them():
    await asyncio.gather(*[asyncio.create_task(one(), name=name) for one, name in [(bake, 'a'), (bake, 'b'), (brew, 'c')]])
asyncio.run(all_of_them())
'''
        told = [(one['where'], one['times']) for one in self.errors(source)['errors']]
        self.assertEqual([('task c', 1), ('task b', 2)], told)

    def test_one_that_comes_again_is_shown_as_it_was_last_and_in_a_storm_says_when_that_was(self):
        # The second in which it was seen is one and the same, however long all of it takes.
        source = '''
import imago.program_errors, time, types
imago.program_errors.time = types.SimpleNamespace(time=time.time, monotonic=lambda: 1000)
for item in ('pie', 'bun'):
    try:
        price(item)
    except KeyError:
        logging.getLogger('quiet').exception('again')
for number in range(500):
    try:
        weigh = {}[number]
    except KeyError:
        logging.getLogger('quiet').exception('a storm')
'''
        storm, again = self.errors(source)['errors']
        self.assertEqual(("'bun'", 2), (again['error']['message'], again['times']))
        self.assertNotIn('shown_at', again)
        self.assertEqual(500, storm['times'])
        self.assertLess(int(storm['error']['message']), 499)
        self.assertTrue(storm['first'] <= storm['shown_at'] <= storm['last'], storm)

    def test_a_storm_is_counted_and_twenty_are_kept(self):
        many = 100_000 if LONG else 5_000
        source = '''
for number in range(40):
    exec('def fails_%d():\\n' % number + '\\n' * number + '    raise ValueError(%d)' % number)
    try:
        globals()['fails_%d' % number]()
    except ValueError:
        logging.getLogger('quiet').exception('one of many')
'''
        found = self.errors(source + 'logged(%d)\n' % many)
        self.assertEqual(20, len(found['errors']))
        self.assertEqual(many + 40, found['total'])
        self.assertEqual(many, found['errors'][0]['times'])
        self.assertLess(len(json.dumps(found)), 1_000_000)

    def test_what_a_caller_evaluates_is_none_of_the_program(self):
        with Program(SHOP + '\nprint("ready", flush=True)\nwait_for_end()\n') as program:
            program.until_printed('ready')
            link = program.attach()
            link.evaluate("price('own')")
            link.evaluate("logged()")
            self.assertEqual([], link.call('errors', count=20, deadline_ms=60_000).answer()['value']['errors'])

    def test_what_was_there_before_is_called_and_put_back(self):
        source = '''
seen = []
listener.close()
before = sys.excepthook, threading.excepthook, logging.getLogRecordFactory()
threading.excepthook = hook = lambda args: seen.append(args.exc_type.__name__)
listener = imago.listen('shop', namespace=globals())
thread = threading.Thread(target=in_thread); thread.start(); thread.join()
listener.close()
assert threading.excepthook is hook, threading.excepthook
assert sys.excepthook is before[0] and logging.getLogRecordFactory() is before[2]
assert seen == ['KeyError'], seen
listener = imago.listen('shop', namespace=globals())
'''
        self.assertEqual([], self.errors(source)['errors'])

    def test_a_fault_of_ours_is_told_once_and_the_program_goes_on(self):
        source = '''
from imago import program_errors
def fails(*_, **__): raise RuntimeError('ours')
program_errors.%s = fails
logged(3)
asyncio.run(main())
print("ready", flush=True)
wait_for_end()
'''
        for broken in ('ProgramErrors.note', '_evaluation_of_task'):
            with self.subTest(broken), Program(SHOP + source % broken) as program:
                # Each stream is read by a thread of its own: that one has come says nothing of the other.
                program.until_printed('ready')
                program.until_printed('fault in taking down', 2)
                program.until_printed('Task exception was never retrieved', 2)
                self.assertEqual(1, bytes(program.printed[2]).count(b'imago: fault'))

    def test_hooks_that_somebody_has_kept_work_on_after_ours_is_taken_out(self):
        source = '''
seen = []
kept = sys.excepthook, threading.excepthook, logging.getLogRecordFactory()
listener.close()
sys.excepthook = lambda *what: (seen.append('main'), kept[0](*what))
threading.excepthook = lambda args: (seen.append('thread'), kept[1](args))
logging.setLogRecordFactory(lambda *args, **named: (seen.append('record'), kept[2](*args, **named))[1])
for _ in range(2):
    logged()
    thread = threading.Thread(target=in_thread); thread.start(); thread.join()
    sys.excepthook(ValueError, ValueError('told'), None)
    assert seen == ['record', 'thread', 'main'], seen
    del seen[:]
    listener = imago.listen('shop', namespace=globals())
'''
        self.assertEqual(3, self.errors(source)['total'])

    def test_a_hook_that_was_thrown_away_is_put_there_again(self):
        source = '''
listener.close()
plain = logging.getLogRecordFactory()
listener = imago.listen('shop', namespace=globals())
logging.setLogRecordFactory(plain)
listener.close()
listener = imago.listen('shop', namespace=globals())
logged()
'''
        self.assertEqual(1, self.errors(source)['total'])

    def test_records_are_made_as_their_maker_asks_for_them_and_of_what_is_no_exception_nothing_is_told(self):
        source = '''
make = logging.getLogRecordFactory()
record = make(name='mine', level=20, pathname='app.py', lineno=3, msg='named', args=(), exc_info=None)
assert (record.name, record.lineno, record.msg) == ('mine', 3, 'named')
assert logging.makeLogRecord({'msg': 'sent', 'exc_info': (None, None, None)}).msg == 'sent'
logging.getLogger('quiet').error('nothing', exc_info=(None, None, None))
sys.excepthook(None, None, None)
'''
        self.assertEqual([], self.errors(source)['errors'])

    def test_errors_are_told_while_another_is_taken_down(self):
        source = '''
logged()
# A finalizer may log an error in the midst of a look, on the thread of that.
imago.program_errors._hooks.errors._changing.acquire()
'''
        self.assertEqual(1, self.errors(source)['total'])

    def test_an_error_where_the_stack_is_full_is_none_of_ours(self):
        source = '''
def deep():
    try:
        deep()
    except RecursionError:
        logging.getLogger('quiet').exception('too deep')
try:
    deep()
except RecursionError:
    pass
logged()
'''
        with Program(SHOP + source + '\nprint("ready", flush=True)\nwait_for_end()\n') as program:
            program.until_printed('ready')
            found = program.attach().call('errors', count=20, deadline_ms=60_000).answer()['value']
            self.assertEqual(('KeyError', True), (found['errors'][0]['error']['type']['name'], found['watched']))
            self.assertEqual(b'', program.printed[2])

    def test_errors_false_touches_no_hook_and_takes_nothing_down(self):
        source = '''
listener.close()
before = sys.excepthook, threading.excepthook, logging.getLogRecordFactory()
listener = imago.listen('shop', namespace=globals(), errors=False)
assert before == (sys.excepthook, threading.excepthook, logging.getLogRecordFactory())
try:
    imago.listen(errors=1)
except (RuntimeError, TypeError):
    pass
logged()
'''
        self.assertEqual({'errors': [], 'total': 0, 'watched': False}, self.errors(source))

    def test_the_hello_says_whether_errors_are_noted(self):
        for errors in (True, False):
            with Program('import imago\nimago.listen(errors=%s)\nwait_for_end()' % errors) as program:
                self.assertEqual(errors, 'errors' in program.attach().hello['abilities'])

    def test_an_error_of_a_request_says_which_one_by_the_asgi_scope_or_the_wsgi_environment_around_it(self):
        source = '''
def view():
    price('tart')

def wsgi(environ, start_response):
    try:
        view()
    except KeyError:
        logging.getLogger('quiet').exception('no tart')

async def asgi(scope, receive, send):
    price('cake')

async def serve():
    try:
        await asgi({'type': 'http', 'method': 'POST', 'path': '/cakes/'}, None, None)
    except KeyError:
        logging.getLogger('quiet').exception('no cake')

wsgi({'REQUEST_METHOD': 'GET', 'PATH_INFO': '/tarts/'}, None)
one = imago.program_errors._hooks.errors.page({'count': 1})['errors'][0]['where']
assert one == 'request GET /tarts/', one

def server(*hostile):
    environ = {'REQUEST_METHOD': 'GET', 'PATH_INFO': '/pies/'}
    application(*hostile)

def application(env, start):
    wsgi(None, start)

class Env(dict):
    def no(self, *args): raise SystemExit('code of the program ran')
    __getitem__ = __contains__ = __iter__ = __len__ = __eq__ = get = items = keys = no

class Text(str):
    def __eq__(self, other): raise SystemExit('code of the program ran')
    __hash__ = str.__hash__

for hostile in (Env(REQUEST_METHOD='GET', PATH_INFO='/'), {Text('REQUEST_METHOD'): 'GET', 'PATH_INFO': Text('/')}):
    server(hostile, None)
    one = imago.program_errors._hooks.errors.page({'count': 1})['errors'][0]['where']
    assert one == 'request GET /pies/', one
    application(hostile, None)
    one = imago.program_errors._hooks.errors.page({'count': 1})['errors'][0]['where']
    assert one == 'thread MainThread', one
asyncio.run(serve())
'''
        self.assertEqual('request POST /cakes/', self.errors(source)['errors'][0]['where'])

    def test_taking_an_error_down_runs_no_code_of_the_program(self):
        source = '''
ran = []

class Meta(type):
    def __eq__(cls, other): ran.append('class ==')
    def __hash__(cls): ran.append('class hash'); return 1
    def __getattribute__(cls, name): ran.append('class ' + name); return type.__getattribute__(cls, name)

class Trap(Exception, metaclass=Meta):
    def __str__(self): ran.append('str'); return 'trap'
    __repr__ = __str__
    def __eq__(self, other): ran.append('==')
    def __hash__(self): ran.append('hash'); return 1
    def __getattribute__(self, name): ran.append(name); return object.__getattribute__(self, name)

class Key(str):
    def __eq__(self, other): ran.append('key =='); return str.__eq__(self, other)
    def __hash__(self): ran.append('key hash'); return str.__hash__(self)

def asgi(scope, value):
    raise Trap(value)

scope = {Key('method'): 'GET', Key('path'): '/', 'method': Trap('in scope')}
for _ in range(2):
    try:
        asgi(scope, Trap('held'))
    except Trap:
        del ran[:]
        logging.getLogger('quiet').error('trapped', exc_info=True)
        assert ran == [], ran
'''
        [one] = self.errors(source)['errors']
        self.assertEqual(('Trap', 2), (one['error']['type']['name'], one['times']))

    @unittest.skipUnless(hasattr(os, 'fork'), 'forks')
    def test_a_forked_child_has_no_hook_of_ours_until_it_listens_and_then_its_own_errors(self):
        source = '''
import os
logged()
pid = os.fork()
if pid == 0:
    try:
        assert (sys.excepthook, logging.getLogRecordFactory()) == (sys.__excepthook__, logging.LogRecord)
        logged()
        imago.listen('child', namespace=globals())
        logged()
        own = imago.program_errors._hooks.errors.page({'count': 9})
        assert own['total'] == 1, own
        os._exit(0)
    finally:
        os._exit(1)
assert os.waitpid(pid, 0)[1] == 0
'''
        self.assertEqual(1, self.errors(source)['total'])

    def test_a_reporter_beside_us_sees_what_it_saw(self):
        for ours_first in (True, False):
            with self.subTest(ours_first=ours_first):
                found = self.errors(REPORTER % ('' if ours_first else 'listener.close()'))
                self.assertEqual(
                    [('uncaught', 'ZeroDivisionError', 1), ('uncaught', 'KeyError', 1), ('logged', 'KeyError', 1)],
                    [(one['kind'], one['error']['type']['name'], one['times']) for one in found['errors']],
                )

    def test_no_class_is_changed_and_detaching_puts_each_hook_back_until_a_daemon_attaches_again(self):
        with Program(HOOKS + SHOP + '\nprint("ready", flush=True)\nwait_for_end()\n') as program:
            program.until_printed('ready')
            link = program.attach()
            ours = '[now is one for now, one in zip(hooks(), before)]'
            unchanged = 'classes() == known and logging.root.handlers == handlers'
            self.assertEqual(('[False, False, False]', 'True'), (link.value(ours), link.value(unchanged)))
            link.evaluate('fails()')
            self.assertIsNone(link.call('detach').answer())
            self.assertEqual(('[True, True, True]', 'True'), (link.value(ours), link.value(unchanged)))
            link.evaluate('fails()')
            self.assertEqual((1, False), told_by(link))
            link.close()
            link = program.attach()
            self.assertEqual('[False, False, False]', link.value(ours))
            link.evaluate('fails()')
            self.assertEqual((2, True), told_by(link))

    def test_a_daemon_that_is_lost_leaves_the_hooks_and_errors_are_noted_while_nobody_is_attached(self):
        alone = 'sys.stdin.readline(); fails(); print("failed", flush=True)'
        with Program(HOOKS + SHOP + '\nprint("ready", flush=True)\n' + alone + '\nwait_for_end()\n') as program:
            program.until_printed('ready')
            program.attach().close()
            program.tell('go on')
            program.until_printed('failed')
            self.assertEqual((1, True), told_by(program.attach()))

    def test_detaching_leaves_what_a_reporter_has_put_on_top_of_ours_and_ours_does_nothing_under_it(self):
        with Program(SHOP + REPORTER % '' + HOOKS + '\nprint("ready", flush=True)\nwait_for_end()\n') as program:
            program.until_printed('ready')
            link = program.attach()
            link.call('detach').answer()
            link.evaluate('del seen[:]; fails()')
            theirs = '(sys.excepthook, threading.excepthook) == (main, thread), [one[0] for one in seen]'
            self.assertEqual("(True, ['run', 'thread'])", link.value(theirs))
            self.assertEqual((3, False), told_by(link))
            link.close()
            link = program.attach()
            link.evaluate('del seen[:]; fails()')
            self.assertEqual("(True, ['run', 'thread'])", link.value(theirs))
            self.assertEqual((4, True), told_by(link))

    def test_a_program_that_ends_by_an_exception_leaves_word_of_it(self):
        with Program(SHOP + "\nprice('end')\n") as program:
            program.process.wait(WAIT)
            [(path, said)] = program.announcements()
            self.assertIn("KeyError: 'end'", said['ended'])
            self.assertNotIn('secret', said)

    def test_one_that_ends_in_order_leaves_nothing(self):
        for ends in ('', 'sys.exit(3)', 'sys.excepthook(ValueError, ValueError(1), None)'):
            with Program(SHOP + ends) as program:
                program.process.wait(WAIT)
                self.assertEqual([], program.announcements())


class TestImagesOfOurs(unittest.TestCase):
    """Images that the daemon started: what they do by themselves is the program's, what is evaluated is not."""

    def told(self, link):
        found = link.call('errors', count=20, deadline_ms=60_000).answer()['value']
        return [(one['kind'], one['where'], one['error']['type']['name']) for one in found['errors']]

    def until_ended(self, kernel):
        """Waits for the end of the script. One that takes long is told to run first, and evaluations run beside it."""
        while kernel.link.notes.get(timeout=WAIT)['params'].get('state') not in ('returned', 'failed'):
            pass

    def test_the_daemon_is_told_that_there_are_new_ones_and_not_of_each(self):
        many = 'for n in range(200):\n    try: {}[n]\n    except KeyError: logging.exception("no")\n'
        with Kernel(script='import logging\n' + many) as kernel:
            self.assertEqual({}, kernel.link.error_notes.get(timeout=WAIT)['params'])
            self.until_ended(kernel)
            self.assertLess(kernel.link.error_notes.qsize(), 100)

    def test_what_a_script_ends_with_is_one_with_its_frames_and_no_error_of_callers(self):
        with Kernel(script='def go():\n    left = 2\n    raise KeyError("missing")\ngo()') as kernel:
            until(lambda: self.told(kernel.link))
            [one] = kernel.link.call('errors', count=20, deadline_ms=60_000).answer()['value']['errors']
            self.assertEqual(('uncaught', 'thread MainThread'), (one['kind'], one['where']))
            self.assertEqual(['<module>', 'go'], [frame['function'] for frame in one['error']['frames']])
            self.assertEqual([('left', '2')], [(one['name'], one['repr']) for one in one['error']['frames'][-1]['locals']])
            self.assertIsNone(kernel.link.call('last_error', deadline_ms=60_000).answer()['value']['error'])

    def test_a_script_that_leaves_with_a_code_is_one_and_one_that_leaves_in_order_is_none(self):
        for leaves, told in (('sys.exit(3)', ['SystemExit']), ('sys.exit(0)', [])):
            with Kernel(script='import sys\n' + leaves) as kernel:
                self.until_ended(kernel)
                self.assertEqual(told, [name for _, _, name in self.told(kernel.link)])

    def test_threads_tasks_and_loggers_of_a_script_and_of_an_empty_image_have_theirs(self):
        source = '''
import asyncio, gc, logging, threading
def fails(): 1 / 0
async def task(): [][1]
async def main():
    made = asyncio.create_task(task(), name='baker')
    await asyncio.sleep(0); await asyncio.sleep(0)
def logs():
    try: {}[1]
    except KeyError: logging.getLogger('quiet').exception('none')
def all_of_it():
    for work in (fails, logs, lambda: (asyncio.run(main()), gc.collect())):
        thread = threading.Thread(target=work, name='till'); thread.start(); thread.join()
'''
        told = [
            ('logged', 'task baker', 'IndexError'),
            ('logged', 'thread till', 'KeyError'),
            ('uncaught', 'thread till', 'ZeroDivisionError'),
        ]
        with Kernel(script=source + 'all_of_it()') as kernel:
            self.until_ended(kernel)
            self.assertEqual(told, self.told(kernel.link))
        with Kernel() as kernel:
            kernel.link.evaluate(source)
            self.assertEqual('done', kernel.link.evaluate('all_of_it()')['type'])
            self.assertEqual(told, self.told(kernel.link))

    def test_what_is_evaluated_there_is_none_whether_it_raises_logs_or_fails_in_a_task(self):
        with Kernel() as kernel:
            kernel.link.evaluate('import asyncio, logging')
            kernel.link.evaluate('1 / 0')
            kernel.link.evaluate('try: 1 / 0\nexcept ZeroDivisionError: logging.exception("mine")')
            self.assertEqual([], self.told(kernel.link))
            last = kernel.link.call('last_error', deadline_ms=60_000).answer()['value']
            self.assertEqual('ZeroDivisionError', last['error']['type']['name'])

    @unittest.skipUnless(hasattr(os, 'fork'), 'forks')
    def test_a_forked_child_has_no_hook_of_ours(self):
        source = '''
import _thread, logging, os, sys, threading
pid = os.fork()
if pid == 0:
    hooks = sys.excepthook, threading.excepthook, logging.getLogRecordFactory()
    os._exit(0 if hooks == (sys.__excepthook__, _thread._excepthook, logging.LogRecord) else 1)
os.waitpid(pid, 0)[1]
'''
        with Kernel() as kernel:
            self.assertEqual('0', kernel.link.value(source))


def told_by(link):
    """How many errors there were in all, and whether more are noted."""
    found = link.call('errors', count=20, deadline_ms=60_000).answer()['value']
    return found['total'], found['watched']


if __name__ == '__main__':
    unittest.main()
