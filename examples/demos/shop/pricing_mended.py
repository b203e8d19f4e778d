"""What an order costs. Prices come over one of four connections, which are shared by all requests."""

import asyncio

CONNECTIONS = 4
connections = asyncio.Semaphore(CONNECTIONS)

prices = {'tea': 3, 'coffee': 4}


async def quote(item):
    """The price of one item. Raises ``KeyError`` for one that is not sold."""
    async with connections:
        await asyncio.sleep(0.002)
        return prices[item]
