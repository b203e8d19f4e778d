"""Times an ipykernel's execute, one request at a time, as its own client library does it.

For each line on standard input that holds a count, it evaluates `1+2` that often and prints the times in
microseconds as a JSON list. An evaluation counts as done when both the reply and the idle status have come.
"""

import json
import sys
import time

from jupyter_client.manager import start_new_kernel


def main() -> None:
    manager, client = start_new_kernel(kernel_name="python3")
    try:
        client.execute_interactive("1+2", allow_stdin=False, output_hook=lambda message: None)
        print("ready", flush=True)
        for line in sys.stdin:
            times = []
            for _ in range(int(line)):
                begun = time.perf_counter_ns()
                client.execute_interactive("1+2", allow_stdin=False, output_hook=lambda message: None)
                times.append((time.perf_counter_ns() - begun) / 1000)
            print(json.dumps(times), flush=True)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


main()
