"""A small HTTP server on asyncio, as a program of the user's: a table of orders, and a page for each.

It knows nothing of Imago until `/listen` is asked for, so that one process can be measured without it and with it.
"""

import asyncio
import io
import json
import logging
import sys

# What it logs is formatted as it would be for a file.
logging.basicConfig(stream=io.TextIOWrapper(open('/dev/null', 'wb'), write_through=True))
log = logging.getLogger('shop')

#: As many frames stand between a framework and what it serves.
DEPTH = 20
ORDERS = {number: {'number': number, 'lines': list(range(number % 20)), 'paid': False} for number in range(10_000)}


def page(number):
    order = ORDERS[number % len(ORDERS)]
    return json.dumps({**order, 'total': sum(line * 3 for line in order['lines'])}).encode()


async def serve(reader, writer):
    while True:
        request = await reader.readline()
        if not request:
            break
        while await reader.readline() not in (b'\r\n', b''):
            pass
        body = answer(request.split()[1].decode())
        head = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n' % len(body)
        writer.write(head.encode() + body)
        await writer.drain()
    writer.close()


def answer(path):
    if path.startswith('/orders/'):
        return page(int(path.rsplit('/', 1)[1]))
    if path.startswith('/missing/'):
        return missing(int(path.rsplit('/', 1)[1]))
    sys.path.insert(0, sys.argv[1])
    import imago

    return imago.listen(name='bench-server', errors=path == '/listen').address.encode()


def layer(depth, number):
    return layer(depth - 1, number) if depth else page(ORDERS['no such order %d' % number])


def missing(number):
    """A request that fails, as a framework answers it: the error is logged with its traceback."""
    try:
        return layer(DEPTH, number)
    except KeyError:
        log.exception('request %d failed', number)
        return b'{}'


async def main():
    server = await asyncio.start_server(serve, '127.0.0.1', 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await server.serve_forever()


asyncio.run(main())
