"""A small shop over HTTP, with a mistake in it: `GET /tea` answers its price."""

import asyncio
import sys

import imago
from pricing import quote

answered = {'200': 0, '404': 0}


async def serve(reader, writer):
    """Answers one request, and hangs up."""
    request = await reader.readline()
    while await reader.readline() not in (b'\r\n', b''):
        pass
    item = request.split()[1].decode().lstrip('/')
    try:
        status, body = '200', str(await quote(item))
    except KeyError:
        status, body = '404', 'not sold here'
    answered[status] += 1
    writer.write(f'HTTP/1.1 {status} -\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}'.encode())
    await writer.drain()
    writer.close()


async def main():
    server = await asyncio.start_server(serve, '127.0.0.1', 0)
    imago.listen('shop')
    print(server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await server.serve_forever()


if __name__ == '__main__':
    asyncio.run(main())
