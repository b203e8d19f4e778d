"""The link as the rest of a kernel sees it: there or not, and another one after each loss."""

from imago import native
from imago.codec import encodings
from imago.handshake import Limits
from imago.link import Link


class Session:
    """At most one link at a time. While there is none, notes are dropped, and who asks is told why not."""

    def __init__(self):
        #: The link to the daemon, or ``None`` while there is none.
        self.link = None
        #: Set once there has been a link.
        self.connected = native.Event()
        #: Called with each link that is over, once it is.
        self.at_end = []

    def begin(self, channel, handshake, hello, serve):
        """Ends a handshake that has proved both ends. From here on there is a link; ``serve`` is for running it."""
        welcome, frames = handshake.greet(hello)
        self.link = Link(channel, frames, encodings()[welcome['encoding']], Limits(welcome), serve)
        self.connected.set()
        return self.link

    def serve(self, link):
        """Serves on a link that ``begin`` made until it is over. Returns why, as ``Link.run`` does."""
        try:
            return link.run()
        finally:
            if self.link is link:
                self.link = None
            for ended in self.at_end:
                ended(link)

    def note(self, name, params):
        """Tells the daemon something, if it is there and keeps up. Returns whether it was told."""
        link = self.link
        return link is not None and link.note(name, params)

    def ask(self, call, prompt, secret):
        """Asks whoever started ``call`` for a line, and waits. Raises ``EOFError`` saying why there is none."""
        link = self.link
        if call is None:
            raise EOFError('nobody can be asked for input: no evaluation is running; pass the text as a value instead')
        if link is None:
            raise EOFError('nobody can be asked for input: the link to the daemon is down')
        answers = native.SimpleQueue()
        question = {'type': 'stdin', 'prompt': prompt, 'secret': secret}
        give_up = link.ask('ask', {'call': call, 'question': question}, lambda *answer: answers.put(answer))
        try:
            while True:
                try:
                    # In short waits: an interrupt of a thread other than the main one cannot break a long one.
                    result, failure = answers.get(timeout=0.2)
                    break
                except native.Empty:
                    continue
        except BaseException:
            give_up()
            raise
        if failure is None and isinstance(result, dict) and isinstance(result.get('answer'), str):
            return result['answer']
        why = failure.get('message') if isinstance(failure, dict) else 'the daemon gave no answer'
        raise EOFError('input was asked for, and not answered: %s' % why)

    def close(self):
        link = self.link
        if link is not None:
            link.close()

    def hang_up(self):
        link = self.link
        if link is not None:
            link.hang_up()

    def drop(self):
        """In a forked child: lets go of the parent's link without a word on it."""
        link, self.link = self.link, None
        if link is not None:
            link.drop()
