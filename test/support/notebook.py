"""Drives a real IPython kernel as a notebook does: reads requests as JSON lines, and answers each with one.

``{"run": code}`` runs a cell and answers ``{"text": all that it shows}``; ``{"begin": code}`` does not wait for it.
``{"restart": true}`` restarts the kernel.
"""

import json
import os
import sys

from jupyter_client.manager import start_new_kernel

manager, client = start_new_kernel(kernel_name='python3', env=dict(os.environ))


def run(code):
    shown = []

    def show(message):
        content = message['content']
        if message['msg_type'] == 'stream':
            shown.append(content['text'])
        elif message['msg_type'] == 'error':
            shown.append('%s: %s' % (content['ename'], content['evalue']))
        elif message['msg_type'] in ('execute_result', 'display_data'):
            shown.append(content['data']['text/plain'])

    client.execute_interactive(code, output_hook=show, timeout=60)
    return ''.join(shown)


try:
    for line in sys.stdin:
        request = json.loads(line)
        if 'begin' in request:
            client.execute(request['begin'])
            answer = {}
        elif 'restart' in request:
            manager.restart_kernel(now=True)
            client.wait_for_ready(timeout=60)
            answer = {}
        else:
            answer = {'text': run(request['run'])}
        print(json.dumps(answer), flush=True)
finally:
    client.stop_channels()
    manager.shutdown_kernel(now=True)
