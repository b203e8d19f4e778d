"""Requests and tasks that fail in frameworks, as the look ``errors`` tells them."""

import unittest

from tests.guests import Program

#: Imago listens before the framework is there, as ``imago run`` has it.
COMMON = '''
import imago, logging, threading, time, urllib.error, urllib.request
listener = imago.listen('shop')

def price(item):
    return {'tea': 2}[item]

def ask(port, path):
    try:
        urllib.request.urlopen('http://127.0.0.1:%d%s' % (port, path)).read()
    except urllib.error.HTTPError as error:
        assert error.code == 500, error
'''

DJANGO = (
    COMMON
    + '''
import django
from django.conf import settings
settings.configure(DEBUG=DEBUGGING, ALLOWED_HOSTS=['*'], ROOT_URLCONF=__name__, SECRET_KEY='only for this test')
from django.http import HttpResponse
from django.urls import path

def order(request, item):
    return HttpResponse(price(item))

def cake(request):
    return HttpResponse(1 / 0)

urlpatterns = [path('orders/<item>/', order), path('cakes/', cake)]
from django.core.servers.basehttp import WSGIRequestHandler, WSGIServer
from django.core.wsgi import get_wsgi_application
server = WSGIServer(('127.0.0.1', 0), WSGIRequestHandler)
server.set_app(get_wsgi_application())
threading.Thread(target=server.serve_forever, daemon=True).start()
for item in ('tea', 'pie', 'pie'):
    ask(server.server_port, '/orders/%s/' % item)
'''
)

FASTAPI = (
    COMMON
    + '''
import uvicorn
from fastapi import FastAPI
app = FastAPI()

@app.get('/orders/{item}')
async def order(item: str):
    return price(item)

@app.get('/plain/{item}')
def plain(item: str):
    return 1 / len(item[:0])

server = uvicorn.Server(uvicorn.Config(app, port=0, log_level='error'))
serving = threading.Thread(target=server.run, daemon=True)
serving.start()
while not server.started:
    time.sleep(0.01)
port = server.servers[0].sockets[0].getsockname()[1]
for asked in ('/orders/tea', '/orders/pie', '/orders/pie', '/plain/pie'):
    ask(port, asked)
# It logs an error after it has answered.
server.should_exit = True
serving.join()
'''
)


SERVED = '''
for asked in ('/orders/tea', '/orders/pie', '/orders/pie'):
    ask(port, asked)
'''

FLASK = COMMON + '''
from flask import Flask
from werkzeug.debug import DebuggedApplication
from werkzeug.serving import make_server
app = Flask(__name__)
app.debug = DEBUGGING

@app.get('/orders/<item>')
def order(item):
    return str(price(item))

server = make_server('127.0.0.1', 0, DebuggedApplication(app) if app.debug else app)
threading.Thread(target=server.serve_forever, daemon=True).start()
port = server.server_port
'''

ASGI = '''
import uvicorn
server = uvicorn.Server(uvicorn.Config(app, port=0, log_level='critical'))
threading.Thread(target=server.run, daemon=True).start()
while not server.started:
    time.sleep(0.01)
port = server.servers[0].sockets[0].getsockname()[1]
'''

QUART = COMMON + '''
from quart import Quart
app = Quart(__name__)
app.debug = True

@app.get('/orders/<item>')
async def order(item):
    return str(price(item))
''' + ASGI

LITESTAR = COMMON + '''
from litestar import Litestar, get

@get('/orders/{item:str}')
async def order(item: str) -> int:
    return price(item)

app = Litestar([order], debug=DEBUGGING)
''' + ASGI

#: One application is made before Imago listens, and one after that. Both answer as before.
LITESTAR_ANSWERS = COMMON.replace("listener = imago.listen('shop')\n", '') + '''
from litestar import Litestar, Response, WebSocket, get, websocket
from litestar.exceptions import HTTPException, NotFoundException, WebSocketException
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

class Expected(Exception):
    pass

RAISED = {
    'nothing': lambda: NotFoundException('no tart'),
    'expected': Expected,
    'full': lambda: HTTPException('no place', status_code=507),
    'closed': lambda: WebSocketException(detail='enough', code=4404),
    'disk': OSError,
}

@get('/plain/{what:str}', sync_to_thread=True)
def plain(what: str) -> int:
    raise RAISED[what]()

@websocket('/socket/{what:str}')
async def in_socket(socket: WebSocket, what: str) -> None:
    await socket.accept()
    raise RAISED[what]()

def made(**options):
    return Litestar([plain, in_socket], **options)

async def app(scope, receive, send):
    await serving(scope, receive, send)

serving = made(exception_handlers={Expected: lambda request, error: Response('sorry', status_code=409)})
''' + ASGI + '''
def answers():
    for path in ('/plain/nothing', '/plain/expected', '/plain/full', '/plain/disk', '/none'):
        try:
            urllib.request.urlopen('http://127.0.0.1:%d%s' % (port, path))
        except urllib.error.HTTPError as error:
            yield error.code, error.read()
    for what in ('nothing', 'closed', 'disk'):
        try:
            with connect('ws://127.0.0.1:%d/socket/%s' % (port, what)) as socket:
                socket.recv()
        except ConnectionClosed as error:
            yield error.rcvd.code, error.rcvd.reason

first = list(answers())
listener = imago.listen('shop')
assert list(answers()) == first and [code for code, _ in first] == [404, 409, 507, 500, 404, 4500, 4404, 4500], first
serving = made(exception_handlers={500: lambda request, error: Response('general', status_code=503)})
assert [code for code, _ in answers()] == [404, 503, 507, 503, 404, 4500, 4404, 4500]
'''

BOTTLE = COMMON + '''
import bottle
from wsgiref.simple_server import make_server

@bottle.route('/orders/<item>')
def order(item):
    return str(price(item))

server = make_server('127.0.0.1', 0, bottle.default_app())
threading.Thread(target=server.serve_forever, daemon=True).start()
port = server.server_port
'''

TORNADO = COMMON + '''
import asyncio
import tornado.httpserver, tornado.netutil, tornado.web

class Order(tornado.web.RequestHandler):
    async def get(self, item):
        self.write(str(price(item)))

async def serve():
    global port
    server = tornado.httpserver.HTTPServer(tornado.web.Application([('/orders/(.*)', Order)]))
    sockets = tornado.netutil.bind_sockets(0, '127.0.0.1')
    server.add_sockets(sockets)
    port = sockets[0].getsockname()[1]
    await asyncio.Event().wait()

port = None
threading.Thread(target=asyncio.run, args=[serve()], daemon=True).start()
while port is None:
    time.sleep(0.01)
'''

AIOHTTP = COMMON + '''
import asyncio
from aiohttp import web
async def order(request):
    return web.Response(text=str(price(request.match_info['item'])))

async def serve():
    global port
    app = web.Application()
    app.router.add_get('/orders/{item}', order)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, '127.0.0.1', 0)
    await site.start()
    port = runner.addresses[0][1]
    await asyncio.Event().wait()

port = None
threading.Thread(target=asyncio.run, args=[serve()], daemon=True).start()
while port is None:
    time.sleep(0.01)
'''

TWISTED = COMMON + '''
from twisted.internet import reactor
from twisted.web import resource, server
class Order(resource.Resource):
    isLeaf = True
    def render_GET(self, request):
        return str(price(request.postpath[-1].decode())).encode()

listening = reactor.listenTCP(0, server.Site(Order()), interface='127.0.0.1')
port = listening.getHost().port
threading.Thread(target=reactor.run, kwargs={'installSignalHandlers': False}, daemon=True).start()
'''

#: Applications that have no framework, in a server that prints their errors.
WSGI = COMMON + '''
from wsgiref.simple_server import make_server

def app(env, start):
    start('200 OK', [])
    return [str(price(env['PATH_INFO'].rpartition('/')[2])).encode()]

class App:
    def __call__(self, surroundings, respond):
        return app(surroundings, respond)

server = make_server('127.0.0.1', 0, App())
threading.Thread(target=server.serve_forever, daemon=True).start()
port = server.server_port
for asked in ('/tarts/pie', '/cakes/pie', '/cakes/pie'):
    ask(port, asked)
'''

#: Each tells of an error that it has caught in a way of its own.
CATCHING = COMMON + '''
import io
from loguru import logger
from rich.console import Console
logger.remove()
logger.add(io.StringIO())
try:
    price('pie')
except KeyError:
    logger.exception('no pie')
try:
    price('pie')
except KeyError:
    Console(file=io.StringIO()).print_exception()

@logger.catch
def sell():
    price('pie')

sell()
'''

STREAMLIT = COMMON + '''
from streamlit.testing.v1 import AppTest
with open('app_of_streamlit.py', 'w') as file:
    file.write('import streamlit\\nitem = "pie"\\nstreamlit.write({"tea": 2}[item])')
AppTest.from_file('app_of_streamlit.py').run(timeout=60)
'''

CELERY = COMMON + '''
from celery import Celery, shared_task
app = Celery('shop', broker='memory://', backend='cache+memory://')

@shared_task(bind=True, max_retries=2)
def send(self, item):
    try:
        return price(item)
    except KeyError as error:
        raise self.retry(exc=error, countdown=0)

from celery.contrib.testing.worker import start_worker
with start_worker(app, pool='solo', perform_ping_check=False):
    failed = send.delay('pie')
    while not failed.ready():
        time.sleep(0.01)
'''


class TestRequests(unittest.TestCase):
    def errors(self, source):
        with Program(source + '\nprint("ready", flush=True)\nwait_for_end()\n') as program:
            program.until_printed('ready')
            return program.attach().call('errors', count=20, deadline_ms=60_000).answer()['value']['errors']

    def assert_is_of_the_view(self, one, where):
        self.assertEqual((where, 'KeyError'), (one['where'], one['error']['type']['name']))
        innermost = one['error']['frames'][-1]
        self.assertEqual('price', innermost['function'])
        self.assertEqual([('item', "'pie'")], [(local['name'], local['repr']) for local in innermost['locals']])

    def test_a_django_view_that_fails_is_one_error_each_time_with_its_request_and_locals(self):
        for debugging in ('False', 'True'):
            with self.subTest(debugging=debugging):
                [one] = self.errors(DJANGO.replace('DEBUGGING', debugging))
                self.assertEqual(2, one['times'])
                self.assert_is_of_the_view(one, 'request GET /orders/pie/')

    def test_views_of_frameworks_that_only_print_or_send_a_signal_are_told_with_request_and_locals(self):
        for framework, kind in (
            (FLASK.replace('DEBUGGING', 'True'), 'request'),
            (FLASK.replace('DEBUGGING', 'False'), 'request'),
            (QUART, 'request'),
            (LITESTAR.replace('DEBUGGING', 'True'), 'logged'),
            (LITESTAR.replace('DEBUGGING', 'False'), 'request'),
            (BOTTLE, 'printed'),
            (TORNADO, 'logged'),
            (AIOHTTP, 'logged'),
            (TWISTED, 'logged'),
        ):
            with self.subTest(framework=framework):
                [one] = self.errors(framework + SERVED)
                self.assertEqual((kind, 2), (one['kind'], one['times']))
                self.assert_is_of_the_view(one, 'request GET /orders/pie')

    def test_litestar_answers_as_without_us_and_its_errors_of_sockets_are_told_but_not_what_it_expects(self):
        told = self.errors(LITESTAR_ANSWERS)
        self.assertEqual(
            [
                ('request websocket /socket/disk', 'OSError', 2),
                ('request GET /plain/disk', 'OSError', 2),
                ('request GET /plain/full', 'HTTPException', 2),
                ('request GET /plain/expected', 'Expected', 1),
            ],
            [(one['where'], one['error']['type']['name'], one['times']) for one in told],
        )

    def test_an_application_of_wsgi_that_fails_is_told_with_each_request_under_any_name(self):
        cakes, tarts = self.errors(WSGI)
        self.assertEqual((2, 1), (cakes['times'], tarts['times']))
        self.assert_is_of_the_view(cakes, 'request GET /cakes/pie')
        self.assert_is_of_the_view(tarts, 'request GET /tarts/pie')

    def test_what_loguru_logs_and_rich_prints_is_told(self):
        caught, printed, logged = self.errors(CATCHING)
        self.assertEqual(['logged', 'printed', 'logged'], [one['kind'] for one in (caught, printed, logged)])
        for one in (caught, printed, logged):
            self.assert_is_of_the_view(one, 'thread MainThread')

    def test_a_script_of_streamlit_that_fails_is_told_though_it_is_only_drawn(self):
        [one] = self.errors(STREAMLIT)
        self.assertEqual(('printed', 1, "KeyError"), (one['kind'], one['times'], one['error']['type']['name']))
        self.assertEqual("streamlit.write({\"tea\": 2}[item])", one['error']['frames'][-1]['source'])

    def test_a_task_of_celery_that_is_tried_again_is_told_with_how_often_and_its_failure_with_its_name(self):
        found = self.errors(CELERY)
        retried = next(one for one in found if one['kind'] == 'retried')
        self.assertEqual(('task shop.send, retry 2', 2), (retried['where'], retried['times']))
        self.assert_is_of_the_view(retried, retried['where'])
        failed = [(one['where'], one['times']) for one in found if one['kind'] == 'logged']
        self.assertEqual([('task shop.send', 1)], failed)

    def test_tasks_of_celery_are_their_functions_and_no_proxy_is_asked(self):
        source = COMMON + '''
from celery import Celery, shared_task
app = Celery('shop', broker='memory://')

@shared_task
def send(item):
    return price(item)

@app.task(bind=True)
def ship(self, item):
    return price(item)

another = Celery('another', broker='memory://')

@another.task
def pack(item):
    'Packs one.'
    return price(item)

pack.name
'''
        with Program(source + '\nprint("ready", flush=True)\nwait_for_end()\n') as program:
            program.until_printed('ready')
            link = program.attach()
            self.assertEqual('(False, True)', link.value('(ship.__evaluated__(), pack.__evaluated__())'))
            for name, first in (('send', '@shared_task'), ('ship', '@app.task(bind=True)'), ('pack', '@another.task')):
                asked = link.call('definition', name=name, max_length=4000, deadline_ms=60_000).answer()
                text = asked['value']['source']['text']
                self.assertEqual((first, 'function'), (text.partition('\n')[0], asked['value']['kind']))
                shown = link.call('inspect', expr=name, deadline_ms=60_000).answer()['value']
                signature = '(self, item)' if name == 'ship' else '(item)'
                told = shown['callable']['signature'], shown['callable']['source_preview'].partition('\n')[0]
                self.assertEqual((signature, first), told)
                self.assertEqual('Packs one.' if name == 'pack' else None, shown.get('doc', {}).get('text'))
                arglist = link.call('arglist', name=name, deadline_ms=60_000).answer()['value']
                self.assertEqual(signature, arglist['signature'])
            self.assertEqual('(False, True)', link.value('(ship.__evaluated__(), pack.__evaluated__())'))

    def test_what_is_joined_of_frameworks_is_taken_back_with_the_hooks(self):
        source = FLASK.replace('DEBUGGING', 'True') + '''
import sys, traceback
from flask.signals import got_request_exception
import rich.traceback
def told():
    finders = [type(one).__module__ for one in sys.meta_path]
    printer, reader = traceback.print_exception, rich.traceback.Traceback.extract
    names = printer.__globals__['__name__'], reader.__module__
    return bool(got_request_exception.receivers), 'imago.frameworks' in finders, *names
print(told())
listener.close()
print(told(), flush=True)
'''
        with Program(source + '\nprint("ready", flush=True)\nwait_for_end()\n') as program:
            program.until_printed('ready')
            printed = bytes(program.printed[1]).decode().splitlines()
        self.assertIn("(True, True, 'imago.program_errors', 'imago.frameworks')", printed)
        self.assertIn("(False, False, 'traceback', 'rich.traceback')", printed)

    def test_views_that_fail_in_one_line_of_a_library_are_each_one_and_requests_of_one_view_are_one(self):
        source = '''
from django.utils.datastructures import MultiValueDict
def cart(request, number=0):
    return MultiValueDict({})['cart']
def invoice(request, number=0):
    return MultiValueDict({})['invoice']
urlpatterns += [path('cart', cart), path('invoice', invoice), path('carts/<number>', cart), path('old/<number>', cart)]
for asked in ('/cart', '/invoice', '/carts/7', '/carts/12?page=3', '/old/1', '/cart'):
    ask(server.server_port, asked)
'''
        told = self.errors(DJANGO.replace('DEBUGGING', 'False') + source)[:4]
        self.assertEqual(
            [
                ('request GET /cart', 2),
                ('request GET /old/1', 1),
                ('request GET /carts/12', 2),
                ('request GET /invoice', 1),
            ],
            [(one['where'], one['times']) for one in told],
        )

    def test_what_django_tells_by_its_signal_alone_is_one(self):
        source = '''
from django.core.signals import got_request_exception
from django.test import RequestFactory
logging.getLogger('django.request').disabled = True
ask(server.server_port, '/cakes/')
'''
        newest = self.errors(DJANGO.replace('DEBUGGING', 'False') + source)[0]
        self.assertEqual(('request', 'request GET /cakes/', 1), (newest['kind'], newest['where'], newest['times']))

    def test_detaching_leaves_the_signal_of_django_the_receivers_that_it_had(self):
        source = '''
from django.core.signals import got_request_exception as signal
signal.connect(lambda **_: None, weak=False, dispatch_uid='theirs')
print("ready", flush=True)
wait_for_end()
'''
        with Program(DJANGO.replace('DEBUGGING', 'False') + source) as program:
            program.until_printed('ready')
            link = program.attach()
            uids = 'sorted(entry[0][0] for entry in signal.receivers)'
            self.assertEqual("['imago', 'theirs']", link.value(uids))
            link.call('detach').answer()
            self.assertEqual("['theirs']", link.value(uids))
            link.close()
            self.assertEqual("['imago', 'theirs']", program.attach().value(uids))

    def test_what_the_logger_of_django_s_server_has_is_one_although_it_does_not_propagate(self):
        source = '''
assert not logging.getLogger('django.server').propagate
try:
    1 / 0
except ZeroDivisionError:
    logging.getLogger('django.server').exception('failed')
'''
        newest = self.errors(DJANGO.replace('DEBUGGING', 'False') + source)[0]
        self.assertEqual(('logged', 'ZeroDivisionError'), (newest['kind'], newest['error']['type']['name']))

    def test_a_route_of_fastapi_that_fails_is_one_error_each_time_with_its_request_and_locals(self):
        plain, one = self.errors(FASTAPI)
        self.assertEqual((2, 1), (one['times'], plain['times']))
        self.assert_is_of_the_view(one, 'request GET /orders/pie')
        self.assertEqual(('request GET /plain/pie', 'ZeroDivisionError'), (plain['where'], plain['error']['type']['name']))


if __name__ == '__main__':
    unittest.main()
