"""The last errors of this process in a file of the user's state directory, where they are found once it has gone.

It is written when an error is noted, at most once a second, and at the end of the process. The file is as the daemon's
``wire/kernels/programs.ts`` reads it: JSON, of bounded size, for its owner alone. What looks like a secret is not in it.
"""

import json
import os
import re
import stat
from os import environ as _environ

from imago import native
from imago.history import rfc3339
from imago.listener import make_private, state_directory, write_whole
from imago.native import time

#: Bytes of a record; the oldest errors make room.
MOST_BYTES = 512 * 1024
#: Seconds between two times that it is written, while the process lives.
_AGAIN = 1.0
#: Seconds that the end of the process waits for another thread that writes the record.
_PATIENCE = 5.0
#: Records of one folder, and of all of them: the oldest make room.
_OF_A_FOLDER = 20
_OF_ALL = 400
#: Bytes of a record that is read at the end of another process: reading it takes a few milliseconds.
_MOST_TAKEN_OVER = 64 * 1024


class Record:
    """``errors`` are the ``ProgramErrors`` of the process, and ``clock`` writes the last of many. Nothing that fails here
    is told.
    """

    def __init__(self, errors, clock):
        #: Which process it is, as it announces itself.
        self.facts = {}
        self._errors = errors
        self._path = None
        self._pid = os.getpid()
        self._writing = native.Lock()
        self._written_at = None
        self._is_behind = False
        self._is_due = False
        self._clock = clock
        # What is said of the end, once that has come: another thread may write the record once more.
        self._end = {}
        # By the number of an error: the report that was written last, and its text.
        self._texts = {}
        # The same: when it came first in processes before this one, and how often.
        self._before = {}

    def noted(self):
        """An error was noted."""
        self._is_behind = True
        if self._written_at is None or time.monotonic() - self._written_at >= _AGAIN:
            self._write(0)
        elif not self._is_due and os.getpid() == self._pid:
            # A process that is killed says nothing at its end.
            self._is_due = True
            self._clock.after(_AGAIN, self._catch_up)

    def secrets(self):
        """``(kind, text)`` of each local of an error that is named as a secret."""
        return {one for error in self._errors.page({'count': 20})['errors'] for one in _secrets_in(error)}

    def _catch_up(self):
        self._is_due = False
        if self._is_behind:
            self._write(0)

    def close(self, ends):
        """The process ends, or listens no more."""
        if ends and (self._written_at is not None or self._is_behind):
            end = {'ended_at': rfc3339(time.time()), 'ended': self._errors.last_words}
            self._end = without_secrets(end, self.secrets())
            self._write(_PATIENCE)
        elif self._is_behind:
            self._write(_PATIENCE)

    def _write(self, patience):
        if os.getpid() != self._pid or not self._writing.acquire(patience > 0, patience or -1):
            return
        try:
            self._written_at = time.monotonic()
            self._is_behind = False
            texts = self._bounded()
            if texts and self._end and not self._before:
                self._before = _taken_over(self._place(), self.facts, [json.loads(text) for text in texts])
                texts = self._bounded()
            if texts:
                head = json.dumps({'imago': 1, **self.facts, 'ended_with': self._errors.ended_with, **self._end})
                write_whole(self._place(), ('%s, "errors": [%s]}\n' % (head[:-1], ',\n'.join(texts))).encode())
        except OSError:
            # No room, or no such directory: the program is not disturbed by that.
            pass
        except Exception:
            native.report_fault('keeping the errors of the program')
        finally:
            self._writing.release()

    def _bounded(self):
        """The errors as JSON, newest first, as many as there is room for."""
        before, self._texts = self._texts, {}
        kept, size = [], 0
        for one in self._errors.page({'count': 20})['errors']:
            error = one.pop('error')
            one['first'], times = self._before.get(one['number'], (one['first'], 0))
            one['times'] += times
            known, text = before.get(one['number'], (None, None))
            if known is not error:
                text = json.dumps(without_secrets(error))
            self._texts[one['number']] = error, text
            whole = '%s, "error": %s}' % (json.dumps(without_secrets(one))[:-1], text)
            size += len(whole)
            if size > MOST_BYTES - 16 * 1024:
                break
            kept.append(whole)
        return kept

    def _place(self):
        if self._path is None:
            import hashlib

            directory = os.path.join(state_directory(), 'errors')
            make_private(directory)
            folder = hashlib.sha256(os.fsencode(self.facts['cwd'])).hexdigest()[:12]
            _make_room(directory, folder)
            began = time.strftime('%Y%m%dT%H%M%S', time.gmtime())
            name = '%s-%s-%d-%s.json' % (folder, began, self._pid, self.facts['epoch'])
            self._path = os.path.join(directory, name)
        return self._path


def _make_room(directory, folder):
    """Removes the oldest records, by their names."""
    names = sorted((name for name in os.listdir(directory) if name.endswith('.json')), key=lambda name: name[13:])
    own = [name for name in names if name.startswith(folder)]
    for name in {*names[: 1 - _OF_ALL], *own[: 1 - _OF_A_FOLDER]}:
        try:
            os.unlink(os.path.join(directory, name))
        except OSError:
            pass


def _taken_over(path, facts, errors):
    """By the number of each error, when it came first and how often in an earlier process. That process ran the same
    program, has ended, and had no other errors. Its record is removed, so that a loop of crashes pushes out no others.
    """
    directory, own = os.path.split(path)
    numbers = {_known_by(one): one['number'] for one in errors}
    for name in sorted(os.listdir(directory), reverse=True):
        other = os.path.join(directory, name)
        if name == own or name[:13] != own[:13] or not name.endswith('.json'):
            continue
        try:
            found = os.lstat(other)
            if not stat.S_ISREG(found.st_mode) or found.st_size > _MOST_TAKEN_OVER:
                continue
            with open(other, encoding='utf-8') as file:
                record = json.load(file)
            if 'ended_at' in record and all(record[fact] == facts[fact] for fact in ('name', 'program', 'cwd')):
                before = {numbers[_known_by(one)]: (str(one['first']), int(one['times'])) for one in record['errors']}
                os.unlink(other)
                return before
        except Exception:
            # It is cut short or no record, another process has just removed it, or it has another error.
            pass
    return {}


def _known_by(one):
    """An error of a record: what it is, and where it came."""
    error = one['error']
    frames = [(frame['file'], frame['line'], frame['function']) for frame in error['frames']]
    return json.dumps([one['kind'], error['type'], error['message'], error.get('misread'), frames])


def without_secrets(value, besides=()):
    """The same with a mark in the place of each secret: of a variable whose name says so, of what looks like one, and of
    both wherever else it occurs; ``besides`` are secrets that are known from elsewhere, each with its kind.
    """
    # Loaded when something is to be kept: most programs have no error.
    from imago.redaction import mark, redacted_with_names, secret_named, tells_nothing

    known = dict(_secrets_of_environment())
    known.update((secret, mark(kind, secret)) for kind, secret in {*_secrets_in(value), *besides})
    longest_first = sorted(known, key=len, reverse=True)

    def cleaned(value):
        if type(value) is str:
            for secret in longest_first:
                value = value.replace(secret, known[secret])
            return redacted_with_names(value)
        if type(value) in (list, tuple):
            return [cleaned(one) for one in value]
        if type(value) is not dict:
            return value
        kind = secret_named(value['name']) if 'repr' in value and type(value.get('name')) is str else None
        made = {name: cleaned(one) for name, one in value.items()}
        if kind is not None and not tells_nothing(value['repr'], kind):
            made['repr'] = mark(kind, value['repr'])
        return made

    return cleaned(value)


#: What is a word, a number or a path may stand anywhere, and is no secret that can be told from other text.
_PLAIN = re.compile(r'\d*|[A-Za-z]{1,15}|~?(?:/[\w. -]+){2,}')
_LEAST = 8


def _is_distinct(text):
    return len(text) >= _LEAST and len(set(text)) > 4 and _PLAIN.fullmatch(text) is None


def _secrets_of_environment():
    """``(value, mark)`` of each variable of the environment whose name says that it is a secret."""
    from imago.redaction import mark, secret_named

    for name, value in list(_environ.items()) if type(_environ) is os._Environ else ():
        if _is_distinct(value) and secret_named(name) is not None:
            yield value, mark('environment variable', value)


def _secrets_in(value):
    """``(kind, text)`` of each local that is named as a secret, and is a text."""
    from imago.redaction import secret_named

    if type(value) is dict:
        name, shown = value.get('name'), value.get('repr')
        kind = secret_named(name) if type(name) is str and type(shown) is str else None
        text = shown[1:-1] if kind is not None and shown[:1] in '"\'' else ''
        if _is_distinct(text):
            yield kind, text
        value = list(value.values())
    for one in value if type(value) in (list, tuple) else ():
        yield from _secrets_in(one)
