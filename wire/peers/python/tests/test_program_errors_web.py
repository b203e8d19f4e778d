"""Requests that fail in Django and FastAPI, as the look ``errors`` tells them."""

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
