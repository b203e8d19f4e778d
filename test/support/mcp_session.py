"""One session of the Python MCP SDK against a server on standard streams.

Usage: mcp_session.py COMMAND [ARGUMENT ...]

Prints one JSON object: what each step of the session came to, for the test to judge.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import anyio
from mcp import Client, MCPError, StdioServerParameters

SLOW = "import time\nfor step in range(30):\n    print('step', step, flush=True)\n    time.sleep(0.05)\n'slept'"
ENDLESS = "import time\nprint('begun', flush=True)\nwhile True:\n    time.sleep(0.02)"


async def main() -> None:
    command, *args = sys.argv[1:]
    server = StdioServerParameters(command=command, args=args, env=dict(os.environ))
    async with Client(server, mode='auto') as client:
        print(json.dumps(await session(client)))


async def session(client: Client) -> dict[str, Any]:
    """Lists the tools, calls each, fails, follows a long call, and cancels one."""
    report: dict[str, Any] = {"version": client.protocol_version, "instructions": client.instructions}
    report["tools"] = [tool.name for tool in (await client.list_tools()).tools]
    await said(client, "eval_expr", expr="def greet(name):\n    return 'hello ' + name")
    report["inspect"] = await said(client, "inspect", expr="greet")
    report["error"] = await said(client, "eval_expr", expr="1 / 0")
    report["unknown"] = await refusal(client)
    report["progress"] = await follow(client)
    report["after_cancel"] = await cancel(client)
    return report


async def said(client: Client, name: str, **arguments: Any) -> dict[str, Any]:
    """The answer of one call: its text blocks, and whether it is a failure."""
    result = await client.call_tool(name, arguments)
    return {"text": [block.text for block in result.content], "failed": bool(result.is_error)}


async def refusal(client: Client) -> dict[str, Any]:
    """What a call of a tool that does not exist is answered with."""
    try:
        await client.call_tool("eval_exp", {"expr": "1"})
    except MCPError as error:
        return {"code": error.code, "message": error.message}
    return {}


async def follow(client: Client) -> dict[str, Any]:
    """A call that takes seconds, and the news of it."""
    news: list[tuple[float, str | None]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        news.append((progress, message))

    result = await client.call_tool("eval_expr", {"expr": SLOW}, progress_callback=hear)
    return {"text": result.content[0].text, "news": news}


async def cancel(client: Client) -> dict[str, Any]:
    """Gives up on a call that never ends as soon as it has begun; the next one shows that it was stopped."""

    async def begun(progress: float, total: float | None, message: str | None) -> None:
        if message is not None and "begun" in message:
            scope.cancel()

    with anyio.CancelScope() as scope:
        await client.call_tool("eval_expr", {"expr": ENDLESS}, progress_callback=begun)
    return await said(client, "eval_expr", expr="6 * 7")


anyio.run(main)
