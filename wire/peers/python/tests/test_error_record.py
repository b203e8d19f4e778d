"""The record of a process's errors: that it is written at the end whatever else goes on, and holds no secret."""

import glob
import json
import os
import unittest

from tests.guests import Program

FAILS = """
import imago, logging
imago.listen()
def note(text):
    try:
        raise ValueError(text)
    except ValueError:
        logging.exception('noted')
"""
# The second thread writes the record and is held there until the end of the process wants to.
MEANWHILE = """
import imago.error_record as kept, threading
from imago import guest, native
record, held, go_on = guest._guests[0]._record, native.Event(), native.Event()
class Lock:
    def __init__(self, lock):
        self._lock = lock
        self.release = lock.release
    def acquire(self, *given):
        if held.is_set():
            go_on.set()
        return self._lock.acquire(*given)
def slow(path, data, write=kept.write_whole):
    if not held.is_set():
        held.set()
        go_on.wait()
    write(path, data)
kept.write_whole, record._writing = slow, Lock(record._writing)
threading.Thread(target=note, args=('first',), daemon=True).start()
held.wait()
raise KeyError('last')
"""


def left(source):
    """The record that a program has left which ends, and what it announced of its end."""
    with Program(source) as program:
        program.process.wait(60)
        (path,) = glob.glob(os.path.join(program.state, 'errors', '*.json'))
        with open(path, encoding='utf-8') as file:
            return json.load(file), [said['ended'] for _, said in program.announcements()]


class Records(unittest.TestCase):
    def test_the_end_of_the_process_is_told_also_where_another_thread_was_writing(self):
        record, _ = left(FAILS + MEANWHILE)
        self.assertEqual(["'last'", 'first'], [one['error']['message'] for one in record['errors']])
        self.assertEqual(record['errors'][0]['number'], record['ended_with'])
        self.assertIn('ended_at', record)

    def test_no_secret_is_in_what_is_left_of_the_end(self):
        record, announced = left(FAILS + "raise KeyError('sk-0123456789abcdefghij')")
        for said in (record['ended'], *announced):
            self.assertRegex(said, r"^KeyError: '\[redacted: api key, 23 characters\]' \(")


if __name__ == '__main__':
    unittest.main()
