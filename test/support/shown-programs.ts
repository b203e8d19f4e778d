/** A table of orders. */
export const TABLE = `
import pandas
orders = pandas.DataFrame({
    'id': range(1000), 'customer': ['Ann', 'Bob'] * 500, 'total': [1.5, 2.5] * 500,
    'placed': pandas.Timestamp('2026-01-02'), 'paid': [True, False] * 500,
})
`

/** A web program whose handler waits for a lock, in a worker thread as frameworks have them. */
export const WEB = `
import threading, time, urllib.request, uvicorn
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

stock = threading.Lock()

def reserve(order):
    wanted = order['number'] * 2
    with stock:
        return wanted

def checkout(request):
    order = {'number': 7, 'lines': ['tea', 'milk']}
    return PlainTextResponse(str(reserve(order)))

app = Starlette(routes=[Route('/checkout', checkout)])
server = uvicorn.Server(uvicorn.Config(app, port=0, log_level='error'))
stock.acquire()
threading.Thread(target=server.run, name='server', daemon=True).start()
while not server.started:
    time.sleep(0.01)
port = server.servers[0].sockets[0].getsockname()[1]
for number in range(3):
    threading.Thread(
        target=lambda: urllib.request.urlopen(f'http://127.0.0.1:{port}/checkout').read(), name=f'client-{number}', daemon=True
    ).start()
`
