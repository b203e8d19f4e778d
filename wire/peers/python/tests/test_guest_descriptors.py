"""Programs that close descriptors which they never opened, and reuse their numbers: ours are among them."""

import os
import socket
import sys
import unittest

from tests.daemon import LONG, WAIT, until
from tests.guests import ProgramCase, Refused, connected
from tests.test_listening import settled, threads_and_descriptors

SOURCE = """
import imago, os, socket, sys
kept = 1
files = []
pairs = []
def close_all():
    os.closerange(3, 1024)
def take_all():
    'Every number that was free, as files and connections of the program.'
    for n in range(20):
        files.append(open('file-%%d' %% n, 'w+b', buffering=0))
        pairs.append(socket.socketpair())
def listen_all():
    for n in range(20):
        own = socket.socket(socket.AF_UNIX)
        own.bind('own-%%d' %% n)
        own.listen()
        files.append(own)
def check():
    'What the program finds in its files, and what waits in its connections.'
    found = [os.stat(file.name).st_size for file in files if hasattr(file, 'name')]
    for pair in pairs:
        for end in pair:
            end.setblocking(False)
            try: found.append(end.recv(100))
            except BlockingIOError: pass
    return found
imago.listen(%s)
for line in sys.stdin:
    exec(line)
    print('did', line, end='', flush=True)
"""


@unittest.skipUnless(sys.platform.startswith('linux'), 'tells sockets by their numbers in the system')
class Closed(ProgramCase):
    def setUp(self):
        self.guest = self.program(SOURCE % '')
        self.guest.announcement()

    def do(self, line):
        done = self.guest.printed[1].count(b'did')
        self.guest.tell(line)
        until(lambda: self.guest.printed[1].count(b'did') > done)

    def reached(self, said=None):
        """A link, however often the program has to find first that its socket is gone."""
        links = []

        def is_reached():
            try:
                links.append(self.guest.attach(said))
            except (OSError, EOFError):
                return False
            except Refused as refused:
                # The link before this one was closed just now, and the program has not noticed yet.
                self.assertIn('occupied', str(refused))
                return False
            return True

        until(is_reached)
        return links[0]

    def assert_reachable(self):
        """The program can be attached to, at what it has announced by now, more than once."""
        for _ in range(3):
            link = self.reached()
            self.assertEqual(link.value('kept'), '1')
            link.close()

    def assert_undisturbed(self):
        self.do('print(check())')
        self.assertIn(repr([0] * 20), self.guest.said())
        self.assertEqual(bytes(self.guest.printed[2]), b'')

    def test_a_program_that_closes_all_descriptors_is_reached_again_and_nothing_is_left_behind(self):
        self.do('close_all()')
        self.assert_reachable()
        before = settled(self.guest)
        for _ in range(10 if LONG else 3):
            self.do('close_all()')
            self.assert_reachable()
        until(lambda: threads_and_descriptors(self.guest) == before)
        self.assertEqual(len(self.guest.announcements()), 1)
        self.assertEqual(self.guest.end(), 0)
        self.assertEqual(self.guest.announcements(), [])

    def test_files_of_the_program_that_took_our_numbers_are_left_alone_up_to_its_end(self):
        self.guest.attach()
        self.do('close_all(); take_all(); import atexit; atexit.register(lambda: print("at its end", check()))')
        self.assert_reachable()
        self.assert_undisturbed()
        self.assertEqual(self.guest.end(), 0)
        self.assertIn('at its end %r' % ([0] * 20), self.guest.said())

    def test_a_listening_socket_of_the_programs_that_took_our_number_keeps_its_connections(self):
        self.do('close_all(); listen_all()')
        self.assert_reachable()
        mine = connected('unix:' + os.path.join(self.guest.folder, 'own-0'))
        self.addCleanup(mine.close)
        mine.sendall(b'for the program')
        self.do('print(files[0].accept()[0].recv(100))')
        self.assertIn("b'for the program'", self.guest.said())

    def test_a_link_that_was_closed_under_us_is_dropped_and_no_byte_of_ours_goes_into_the_programs_files(self):
        prints = 'print("before", flush=True)\nwhile not files: time.sleep(0.01)\nfor n in range(100): print(n, flush=True)'
        for call, source in (('by the program', 'import time\n' + prints), ('by the code', 'close_all(); take_all()')):
            self.guest = self.program(SOURCE % '')
            link = self.guest.attach()
            asked = link.start(source + '\nkept', call=call)
            if call == 'by the program':
                asked.until_printed('before')
                self.do('close_all(); take_all()')
            else:
                until(lambda: os.path.exists(os.path.join(self.guest.folder, 'file-19')))
            # The daemon asks something, as it does when nothing is heard; it is not answered on what was closed.
            try:
                link.send({'type': 'ping', 'n': 1})
            except (BrokenPipeError, ConnectionResetError):
                pass  # It was dropped before it was asked.
            self.assertTrue(link.ended.wait(WAIT))
            self.assertTrue(link.pongs.empty())
            again = self.reached()
            self.assertEqual(again.call('recall', call=call).answer()['values'][0]['repr']['text'], '1')
            again.close()
            self.assert_undisturbed()

    def test_a_port_whose_descriptor_was_closed_is_listened_at_again(self):
        self.guest = self.program(SOURCE % 'port=0')
        said = self.guest.announcement()
        self.do('close_all(); take_all()')
        for _ in range(2):
            # Nobody listens there for a moment, before that is done anew.
            link = self.reached(said)
            self.assertEqual(link.value('kept'), '1')
            link.close()


class Channels(unittest.TestCase):
    """What a channel does with a descriptor that is not its own any more."""

    def setUp(self):
        from imago.connection import Channel, Lost
        from imago.native import Socket

        self.lost = Lost
        listener = socket.create_server(('127.0.0.1', 0))
        self.addCleanup(listener.close)
        raw = Socket(socket.AF_INET, socket.SOCK_STREAM)
        raw.connect(listener.getsockname())
        other, _ = listener.accept()
        self.addCleanup(other.close)
        self.descriptor = raw.fileno()
        self.channel = Channel(raw)

    def test_it_is_used_while_it_is_ours(self):
        self.assertTrue(self.channel.is_ours())
        self.channel.send(b'x')
        self.channel.close()
        self.assertFalse(self.channel.is_ours())

    def test_it_is_not_used_and_not_closed_once_it_is_another_ones(self):
        theirs, far = socket.socketpair()
        self.addCleanup(far.close)
        os.dup2(theirs.fileno(), self.descriptor)
        theirs.close()
        for use in (
            lambda: self.channel.send(b'x'),
            lambda: self.channel.sendall(b'x'),
            lambda: self.channel.recv(1),
            lambda: self.channel.settimeout(1),
            self.channel.accept,
        ):
            with self.assertRaises(self.lost):
                use()
        self.channel.shutdown()
        self.channel.close()
        far.send(b'still there')
        self.assertEqual(os.read(self.descriptor, 100), b'still there')
        os.close(self.descriptor)
