"""Times a bare session of Mathics3: `1+2` read, evaluated and written as text, as its own terminal does it.

The first line that it prints is what `1+2` came to. Then, for each line on standard input that holds a count, it
evaluates it that often and prints the times in microseconds as a JSON list.
"""

import json
import os
import sys
import time

# As Imago's host has it.
os.environ["MATHICS_CHARACTER_ENCODING"] = "ASCII"

from mathics.core.load_builtin import import_and_load_builtins  # noqa: E402
from mathics.session import MathicsSession  # noqa: E402


def main() -> None:
    import_and_load_builtins()
    session = MathicsSession()

    def once() -> str:
        return session.evaluate_as_in_cli("1+2", form="text").result

    print(once(), flush=True)
    for line in sys.stdin:
        times = []
        for _ in range(int(line)):
            begun = time.perf_counter_ns()
            once()
            times.append((time.perf_counter_ns() - begun) / 1000)
        print(json.dumps(times), flush=True)


main()
