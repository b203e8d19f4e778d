"""What user code prints, on its way to the daemon.

``write`` is called by anything that prints, on any thread, from finalizers too. It never waits and never grows
memory: text is gathered, cut into events, and sent as far as its call has credit. What is beyond that is kept up to
``KEPT`` characters per call; more is dropped and counted, and the count is sent in its place.
"""

import collections

from imago import native

#: Characters gathered before they are sent without waiting for more, and the longest wait, in seconds.
GATHERED = 16 * 1024
WAIT = 0.05
#: Characters of one event, and those kept for one call that is out of credit.
EVENT = 32 * 1024
KEPT = 1024 * 1024
#: How long an ended call waits for credit for what it printed last, in seconds.
PATIENCE = 5.0
#: How soon a daemon that is behind or away is tried again with background output, in seconds.
AGAIN = 0.25


class Output:
    """Gathers what is printed. ``current`` is the running evaluation, to which it belongs while there is one."""

    def __init__(self, clock, note):
        self._clock = clock
        self._note = note
        self._gathered = collections.deque()
        self._size = 0
        self._awaited = False
        self._flushing = native.Lock()
        self._unsaid = collections.deque()
        self._unsaid_size = 0
        self._unheard = 0
        self.current = None

    def write(self, stream, text):
        """Takes text of ``'stdout'`` or ``'stderr'``."""
        self._gathered.append((self.current, stream, text))
        self._size += len(text)
        if self._size >= GATHERED:
            self.flush()
        else:
            self._await_flush(WAIT)

    def flush(self):
        """Sends what was gathered. Where another thread is at it already, that one takes this along."""
        while self._gathered and self._flushing.acquire(False):
            try:
                self._deliver()
            finally:
                self._flushing.release()

    def settle(self, evaluation, result):
        """Sends the rest of an evaluation's output and its result. What comes for it later is nobody's."""
        with self._flushing:
            if self._gathered:
                self._deliver(hold=evaluation)
            evaluation.outflow.end(result)

    def join(self, evaluation, served):
        """Lets one more caller follow an evaluation: from now on, or from where the last one was lost."""
        with self._flushing:
            evaluation.outflow.join(served)

    def leave(self, evaluation, served):
        with self._flushing:
            evaluation.outflow.leave(served)

    def pump(self, evaluation):
        """Sends what waited for credit. For the clock's thread: the reader never waits for a flush."""
        with self._flushing:
            evaluation.outflow.pump()

    def give_up(self, evaluation):
        """Lets go of what an ended evaluation still has to send, but for its result."""
        with self._flushing:
            evaluation.outflow.give_up()

    def _await_flush(self, seconds):
        if not self._awaited:
            self._awaited = True
            self._clock.after(seconds, self._flush_late)

    def _flush_late(self):
        self._awaited = False
        self.flush()
        # Another thread held the lock, and may have taken its last look before this came.
        if self._gathered:
            self._await_flush(WAIT)
        if self._unsaid:
            with self._flushing:
                self._speak()

    def _deliver(self, hold=None):
        """Hands on all that was gathered, neighbours together. What is of ``hold`` is only kept, for its end."""
        gathered = self._gathered
        self._size = 0
        texts = []
        last = None
        while gathered:
            owner, stream, text = gathered.popleft()
            if last is not None and last != (owner, stream):
                self._hand_on(last, texts, hold)
                texts = []
            texts.append(text)
            last = owner, stream
        if last is not None:
            self._hand_on(last, texts, hold)

    def _hand_on(self, last, texts, hold):
        owner, stream = last
        text = texts[0] if len(texts) == 1 else ''.join(texts)
        if owner is None or owner.outflow.ended:
            self._say(stream, text)
        else:
            owner.outflow.add(stream, text)
            if owner is not hold:
                owner.outflow.pump()

    def _say(self, stream, text):
        """Background output: kept while the daemon is behind or away, and dropped beyond ``KEPT``."""
        self._speak()
        room = KEPT - self._unsaid_size
        if room > 0:
            self._tell_of_dropped()
        for start in range(0, min(len(text), room), EVENT):
            self._keep(stream, text[start : min(start + EVENT, room)])
        self._unheard += max(0, len(text) - room)
        self._speak()

    def _speak(self):
        """Says what is kept, as far as the daemon takes it; the rest is tried again."""
        while self._unsaid:
            stream, text = self._unsaid[0]
            if not self._note('output', {'stream': stream, 'text': text}):
                self._await_flush(AGAIN)
                return
            self._unsaid.popleft()
            self._unsaid_size -= len(text)
            if not self._unsaid:
                self._tell_of_dropped()

    def _tell_of_dropped(self):
        if self._unheard:
            self._keep('stderr', '\n[imago: %d characters of output were dropped]\n' % self._unheard)
            self._unheard = 0

    def _keep(self, stream, text):
        self._unsaid.append((stream, text))
        self._unsaid_size += len(text)


class Outflow:
    """The way of one evaluation's events, and then of its result, to all who follow it. Under the flush's lock."""

    __slots__ = ('_ways', 'ended')

    def __init__(self):
        self._ways = [Way(None)]
        self.ended = False

    def add(self, stream, text):
        for way in self._ways:
            way.add(stream, text)

    def pump(self):
        for way in self._ways:
            way.pump()

    def join(self, served):
        way = self._ways[0]
        if way.served is None and not way.answered:
            way.served = served
        else:
            result = way.result
            way = Way(served)
            way.result = result
            self._ways.append(way)
        way.pump()

    def leave(self, served):
        """The link of one follower is gone. Output goes on being kept for whoever comes back."""
        for way in self._ways:
            if way.served is served:
                way.served = None
        followed = [way for way in self._ways if way.served is not None]
        self._ways = followed or self._ways[:1]

    def end(self, result):
        self.ended = True
        for way in self._ways:
            way.result = result
            way.pump()

    def followed(self):
        return any(way.served is not None for way in self._ways)

    def answered(self):
        return all(way.answered for way in self._ways)

    def give_up(self):
        """What was printed last is dropped, and the result sent without it."""
        for way in self._ways:
            if not way.answered:
                way.forget()
                way.pump()


class Way:
    """To one follower: what is kept for want of credit (or of a follower), and the result behind it."""

    __slots__ = ('served', 'result', 'answered', '_impatient', '_kept', '_size', '_dropped')

    def __init__(self, served):
        self.served = served
        self.result = None
        self.answered = False
        self._impatient = False
        self._kept = None
        self._size = 0
        self._dropped = None

    def add(self, stream, text):
        room = KEPT - self._size
        if self._dropped or room <= 0:
            self._drop(stream, len(text))
            return
        if len(text) > room:
            self._drop(stream, len(text) - room)
            text = text[:room]
        if self._kept is None:
            self._kept = collections.deque()
        self._kept.append((stream, text))
        self._size += len(text)

    def pump(self):
        """Sends all that credit allows; with the last of it, the result."""
        served = self.served
        if served is None or self.answered or (self.result is None and not self._kept and not self._dropped):
            return
        bodies = []
        while self._kept or self._dropped:
            body = self._next(served)
            if body is None:
                break
            served.spent += len(body)
            bodies.append(body)
        if self.result is not None and not self._kept and (self._impatient or not self._dropped):
            self.answered = True
            self.served = None
            served.result(self.result, bodies)
        elif bodies:
            served.post(bodies)

    def forget(self):
        for stream, text in self._kept or ():
            self._drop(stream, len(text))
        self._kept = None
        self._size = 0
        self._impatient = True

    def _drop(self, stream, count):
        if self._dropped is None:
            self._dropped = {}
        self._dropped[stream] = self._dropped.get(stream, 0) + count

    def _next(self, served):
        """The next event as far as credit reaches, encoded and taken off what is kept; or ``None``."""
        credit = served.granted - served.spent
        if not self._kept:
            stream, count = next(iter(self._dropped.items()))
            body = served.event({'type': 'dropped', 'stream': stream, 'characters': count})
            if len(body) > credit:
                return None
            del self._dropped[stream]
            return body
        stream, text = self._kept[0]
        size = min(len(text), EVENT)
        while size > 0:
            body = served.event({'type': 'output', 'stream': stream, 'text': text[:size]})
            if len(body) <= credit:
                self._kept.popleft()
                if size < len(text):
                    self._kept.appendleft((stream, text[size:]))
                self._size -= size
                return body
            if size <= 64:
                return None
            size //= 2
        return None
