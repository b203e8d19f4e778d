"""Interrupts that come just when code ends, many thousands of them; run as a program of its own, since it takes SIGINT.

``python -m tests.races main 10000`` prints what became of those that were interrupted, as JSON. It fails where an
evaluation that nobody interrupted was hit, or where anything but evaluated code was.
"""

import asyncio
import json
import random
import sys
import threading
import time

from imago.places import Here, place_for
from tests.evaluating import Guest


# Times round a loop: less than a millisecond of work.
SHORT = 1500
BUSY = 'for i in range(%d): n = i'
AWAITS = 'import asyncio\nfor i in range(%d // 20): await asyncio.sleep(0)'


def race(guest, rounds, source=BUSY):
    chance = random.Random(rounds)
    ends = {'done': 0, 'interrupted': 0, 'withdrawn': 0}
    # How long a turn between two threads takes is the machine's affair: where code ends before the interrupt comes, it is
    # made longer and the interrupt earlier, and the other way round, so that the two meet on any machine.
    longest = latest = SHORT
    for turn in range(rounds):
        loops = chance.randrange(1, int(longest))
        first = guest.start(source % loops)
        second = guest.start('for i in range(300): m = i\n%d' % turn)
        while turn % 20 and first.owner.state == 'queued':
            time.sleep(0)
        for _ in range(chance.randrange(0, int(latest))):
            pass
        guest.evaluator.interrupt(first.name, lambda report: None)
        ended = first.answer()
        if ended['type'] not in ends:
            raise AssertionError('an interrupt was taken for something else, in round %d: %r' % (turn, ended))
        ends[ended['type']] += 1
        is_late = ended['type'] == 'done'
        longest = max(2, longest * (1.1 if is_late else 0.9))
        latest = max(2, latest * (0.9 if is_late else 1.1))
        outcome = second.answer()
        if outcome['type'] != 'done' or outcome['values'][0]['repr']['text'] != str(turn):
            raise AssertionError('the next evaluation was hit, in round %d: %r' % (turn, outcome))
    return ends


def main(kind, rounds):
    # As many turns between the threads as there can be.
    sys.setswitchinterval(1e-6)
    if kind == 'thread':
        print(json.dumps(race(Guest(place_for('thread')), rounds)))
        return
    if kind in ('loop', 'await'):
        loop = asyncio.new_event_loop()
        threading.Thread(target=loop.run_forever, daemon=True).start()
        print(json.dumps(race(Guest(place_for('loop', loop)), rounds, BUSY if kind == 'loop' else AWAITS)))
        loop.call_soon_threadsafe(loop.stop)
        return
    place = Here()
    guest = Guest(place)
    guest.interrupts.install()
    ended = []

    def work():
        try:
            ended.append(race(guest, rounds))
        finally:
            place.stop()

    aside = threading.Thread(target=work)
    aside.start()
    place.run()
    aside.join()
    if not ended:
        sys.exit(1)
    print(json.dumps(ended[0]))


if __name__ == '__main__':
    main(sys.argv[1], int(sys.argv[2]))
