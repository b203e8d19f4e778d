"""Calls of the Python MCP SDK with a person at its dialog.

Usage: mcp_dialog.py MODE COMMAND [ARGUMENT ...]

MODE is what the SDK calls the mode of a client: ``auto`` or ``legacy``.  Calls ``write_file`` once for each answer that a
person can give, and prints one JSON object: the revision, and for each answer what the call came to and what was asked.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import anyio
from mcp import Client, StdioServerParameters
from mcp.types import ElicitResult

# No three refusals in a row: after those nobody would be asked for a while.
ANSWERS = {
    'approved': ElicitResult(action='accept', content={'decision': 'approve'}),
    'denied': ElicitResult(action='accept', content={'decision': 'deny', 'reason': 'not that'}),
    'declined': ElicitResult(action='decline'),
    'approved-again': ElicitResult(action='accept', content={'decision': 'approve'}),
    'cancelled': ElicitResult(action='cancel'),
    'empty': ElicitResult(action='accept', content={}),
    'approved-at-last': ElicitResult(action='accept', content={'decision': 'approve'}),
    'without': ElicitResult(action='accept'),
}


async def main() -> None:
    mode, command, *args = sys.argv[1:]
    server = StdioServerParameters(command=command, args=args, env=dict(os.environ))
    report: dict[str, Any] = {}
    for word in ANSWERS:
        report[word] = await answering(word, mode, server, report)
    print(json.dumps(report))


async def answering(word: str, mode: str, server: StdioServerParameters, report: dict[str, Any]) -> dict[str, Any]:
    asked: list[Any] = []

    async def put(context: Any, params: Any) -> ElicitResult:
        asked.append(params.model_dump(by_alias=True, exclude_none=True))
        return ANSWERS[word]

    async with Client(server, mode=mode, elicitation_callback=put) as client:
        report['version'] = client.protocol_version
        result = await client.call_tool('write_file', {'path': f'{word}.txt', 'content': 'one\n'})
    return {'failed': bool(result.is_error), 'text': result.content[0].text, 'asked': asked}


anyio.run(main)
