"""How a kernel that the daemon started reaches it: connected, lost, connected again with the same secret."""

import sys

from imago.channel import connect
from imago.handshake import Handshake, NotTrusted

#: Seconds before the first try to connect again, by how much that grows, and how far.
WAIT = 0.25
GROWTH = 1.6
LONGEST_WAIT = 5.0


class Connecting:
    """Keeps up the link of one session. ``invitation`` has the address and the secret.

    ``ending`` is an event: once it is set, nothing more is tried.
    """

    def __init__(self, session, invitation, ending):
        self._session = session
        self._address = invitation['address']
        self._secret = invitation['secret']
        self._ending = ending
        self._complained = False

    def run(self, hello, serve):
        """Connects and serves, again and again, until the process ends. Raises ``Refused`` where the daemon says so."""
        wait = WAIT
        while not self._ending.is_set():
            try:
                link = self._connect(hello, serve)
            except (NotTrusted, OSError, ValueError) as error:
                self._complain(error)
            else:
                wait = WAIT
                broken = self._session.serve(link)
                if broken is not None and not self._ending.is_set():
                    self._complain(broken)
            self._ending.wait(wait)
            wait = min(wait * GROWTH, LONGEST_WAIT)

    def _connect(self, hello, serve):
        channel = connect(self._address)
        try:
            handshake = Handshake(channel)
            handshake.open(self._secret)
            return self._session.begin(channel, handshake, hello, serve)
        except BaseException:
            channel.close()
            raise

    def _complain(self, error):
        """Once: a daemon that restarts is tried for long."""
        if not self._complained:
            self._complained = True
            sys.__stderr__.write('imago: no link to the daemon: %s\n' % error)
            sys.__stderr__.flush()
