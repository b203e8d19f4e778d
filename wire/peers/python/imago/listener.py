"""Where a program that listens is found: the announcement of its address, and the socket that takes connections."""

import datetime
import errno
import json
import os
import stat
import sys

from imago import native
from imago.connection import Lost, connect, listen_at


# How a program that listens makes itself known: a file in the runtime directory, which only its owner can enter.
#
# The file is the last thing made and the first removed. It holds the secret, so whoever can read it may attach.

#: The longest path of a Unix socket, in bytes: systems cut longer ones off without a word.
LONGEST_PATH = 103

_ADVICE = 'remove it, or set IMAGO_RUNTIME_DIR to a directory of your own'


class Announcement:
    """``<runtime>/programs/<pid>-<4 digits>.json``, and the socket beside it. Raises ``OSError`` with what to do."""

    def __init__(self):
        directory = os.path.join(runtime_directory(), 'programs')
        stem = os.path.join(directory, '%d-%s' % (os.getpid(), os.urandom(2).hex()))
        self._directory = directory
        self._path = stem + '.json'
        self._pid = os.getpid()
        self._fields = {}
        #: Where the socket may stand.
        self.socket = stem + '.sock'

    def prepare(self):
        """Makes the directories, or finds them safe, so that the socket can be made."""
        if len(os.fsencode(self.socket)) > LONGEST_PATH:
            raise OSError('the path %s is too long for a socket; set IMAGO_RUNTIME_DIR to a shorter one' % self.socket)
        for directory in (os.path.dirname(self._directory), self._directory):
            try:
                make_private(directory)
            except OSError as error:
                if error.errno is None:
                    raise
                # The system names the first directory that it did not make, and nothing that could be done about it.
                failed = 'the runtime directory %s cannot be made: %s; set IMAGO_RUNTIME_DIR to a directory of your own'
                raise OSError(failed % (directory, error)) from error
        _tell(os.path.dirname(self._directory))

    def write(self, fields):
        """Makes it known, whole or not at all, in the place of what this process has made known before."""
        self._fields = fields
        announced_at = datetime.datetime.fromtimestamp(native.time.time(), datetime.timezone.utc).strftime('%Y-%m-%dT%H:%M:%S.%fZ')
        text = json.dumps({'imago': 1, **fields, 'announced_at': announced_at}).encode()
        write_whole(self._path, text + b'\n')
        self._remove_older(fields['started'])

    def _remove_older(self, started):
        """Removes what this process has announced before it replaced itself. A container may have a process of its number."""
        own = os.path.basename(self._path)
        prefix = '%d-' % os.getpid()
        for name in os.listdir(self._directory):
            if name.startswith(prefix) and name.endswith('.json') and name != own:
                path = os.path.join(self._directory, name)
                try:
                    with open(path, encoding='utf-8') as file:
                        is_own = started != '' and json.load(file).get('started') == started
                except (OSError, ValueError, AttributeError):
                    continue
                if is_own:
                    _remove(path)
                    _remove(path[: -len('json')] + 'sock')

    def leave_word(self, ended):
        """Says in its place what has ended the program. Whoever follows that reads it, and removes it."""
        if os.getpid() == self._pid:
            fields = {name: value for name, value in self._fields.items() if name != 'secret'}
            self.write({**fields, 'ended': ended})
            _remove(self.socket)

    def remove(self):
        """Takes it back, and the socket with it. A forked child leaves its parent's alone."""
        if os.getpid() == self._pid:
            _remove(self._path)
            _remove(self.socket)


def announced_by(pid):
    """What processes of that number are called: the names that they announced, with and without the number, the number
    alone, and the same of the programs that they work for."""
    directory = os.path.join(runtime_directory(), 'programs')
    names = []
    for file in os.listdir(directory):
        if file.startswith('%d-' % pid) and file.endswith('.json'):
            try:
                with open(os.path.join(directory, file), encoding='utf-8') as opened:
                    fields = json.load(opened)
                name = fields['name']
                called = (name, '%s-%d' % (name, pid), str(pid), *fields.get('works_for', ()))
                names += [one for one in called if type(one) is str]
            except (OSError, ValueError, LookupError, TypeError, AttributeError):
                pass
    return names


def runtime_directory(env=None):
    """The directory of one user's sockets, as the daemon finds it too (``src/paths.ts``)."""
    env = os.environ if env is None else env
    if env.get('IMAGO_RUNTIME_DIR'):
        return os.path.abspath(env['IMAGO_RUNTIME_DIR'])
    in_use = _directory_in_use(env)
    if in_use is not None:
        return in_use
    xdg = env.get('XDG_RUNTIME_DIR') or ''
    if os.path.isabs(xdg):
        return os.path.normpath(os.path.join(xdg, 'imago'))
    own = os.path.join(USERS, str(os.getuid()))
    if _is_private(own):
        return os.path.join(own, 'imago')
    temporary = env.get('TMPDIR') or env.get('TMP') or env.get('TEMP') or '/tmp'
    return os.path.abspath(os.path.join(temporary, 'imago-%d' % os.getuid()))


#: Where systemd makes a directory for each user who logs in.
USERS = '/run/user'


def state_directory(env=None):
    """The directory of what outlives the daemon, as that finds it too (``src/paths.ts``)."""
    env = os.environ if env is None else env
    if env.get('IMAGO_STATE_DIR'):
        return os.path.abspath(env['IMAGO_STATE_DIR'])
    xdg = env.get('XDG_STATE_HOME') or ''
    if os.path.isabs(xdg):
        return os.path.normpath(os.path.join(xdg, 'imago'))
    return os.path.join(env.get('HOME') or os.path.expanduser('~'), '.local', 'state', 'imago')


def _directory_in_use(env):
    """The runtime directory that the state directory names, or None where it is gone or not ours alone."""
    try:
        path = os.path.join(state_directory(env), 'runtime')
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            line, end, _ = os.read(descriptor, 4096).partition(b'\n')
        finally:
            os.close(descriptor)
        # A line without its end was cut short.
        found = os.fsdecode(line)
        return found if end and os.path.isabs(found) and _is_private(found) else None
    except (OSError, ValueError):
        return None


def _tell(directory, env=None):
    """Names the runtime directory for a daemon that is started with other variables, where nothing names one yet."""
    env = os.environ if env is None else env
    if env.get('IMAGO_RUNTIME_DIR') or _directory_in_use(env) is not None:
        return
    state = state_directory(env)
    try:
        os.makedirs(state, mode=0o700, exist_ok=True)
        if os.stat(state).st_uid == os.getuid():
            write_whole(os.path.join(state, 'runtime'), os.fsencode(directory) + b'\n')
    except OSError:
        # A program listens all the same without a state directory.
        pass


def _is_private(directory):
    try:
        found = os.lstat(directory)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077


def program():
    """What runs here, as it was started: the path of the script, or nothing."""
    given = sys.argv[0] if getattr(sys, 'argv', None) else ''
    return given if isinstance(given, str) and given not in ('-c', '-m', '-') else ''


def name_of(path):
    """A name for the program at ``path``: what its file is called, or its folder where that is run."""
    stem = os.path.splitext(os.path.basename(path))[0]
    if stem == '__main__':
        stem = os.path.basename(os.path.dirname(os.path.abspath(path)))
    legal = ''.join(mark if mark.isascii() and (mark.isalnum() or mark in '._-') else '-' for mark in stem)
    name = legal.lstrip('._-')[:64] or 'python'
    # A number would mean the process of that number.
    return 'python-' + name[:57] if name.isdigit() else name


def started(pid):
    """When a process began, in the words of the system, or nothing. Another process of its number began later."""
    try:
        if not sys.platform.startswith('linux'):
            import subprocess

            done = subprocess.run(['ps', '-o', 'lstart=', '-p', str(pid)], stdout=subprocess.PIPE)
            return done.stdout.decode().strip()
        with open('/proc/%d/stat' % pid, 'rb') as file:
            # The name of the command is in parentheses, and may hold anything.
            fields = file.read().rpartition(b')')[2].split()
        with open('/proc/sys/kernel/random/boot_id', encoding='ascii') as file:
            return '%s:%d' % (file.read().strip(), int(fields[19]))
    except (OSError, ValueError, IndexError):
        return ''


def write_whole(path, data):
    """Puts a file there for its owner alone, whole or not at all, in the place of what was there."""
    made = os.path.join(os.path.dirname(path), '.new-%s' % os.urandom(8).hex())
    descriptor = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, 'wb') as file:
            file.write(data)
        os.replace(made, path)
    except BaseException:
        _remove(made)
        raise


def make_private(directory):
    """Makes a directory for its owner alone, or finds it so. Raises ``OSError`` saying what is wrong with it."""
    os.makedirs(os.path.dirname(directory), mode=0o700, exist_ok=True)
    try:
        os.mkdir(directory, 0o700)
    except FileExistsError:
        pass
    found = os.lstat(directory)
    if stat.S_ISLNK(found.st_mode):
        raise OSError('the runtime directory %s is a symbolic link, which is refused; %s' % (directory, _ADVICE))
    if not stat.S_ISDIR(found.st_mode):
        raise OSError('%s is no directory; %s' % (directory, _ADVICE))
    if found.st_uid != os.getuid():
        belongs = 'the runtime directory %s belongs to user %d, not to this one; %s'
        raise OSError(belongs % (directory, found.st_uid, _ADVICE))
    if found.st_mode & 0o077:
        os.chmod(directory, 0o700)


def _remove(path):
    try:
        os.unlink(path)
    except OSError:
        pass


# Who connects to a program that listens.
#
# One thread waits for connections, and does nothing else. Each is let in, or not, on a thread of its own: one that is
# slow keeps nobody out. A socket whose descriptor was closed by the program is made anew with the next connection.

#: Connections that may be undecided at once; one more is closed right away.
UNDECIDED = 16
#: Seconds until the socket is tried again when the system has no room for a connection, and at the longest.
AGAIN = 0.5
LONGEST_AGAIN = 30.0

_NO_ROOM = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


class Acceptor:
    """``admit(channel, decided)`` is run for each connection; ``moved(address)`` says where it listens now."""

    def __init__(self, address, admit, moved):
        self._admit = admit
        self._moved = moved
        self._undecided = 0
        self._counting = native.Lock()
        self._closed = False
        self._channel, self.address = listen_at(address)

    def open(self):
        native.start(self._run, 'imago-listen')

    def close(self):
        """Lets nobody in any more. From another thread than the one that waits."""
        self._closed = True
        self._channel.shutdown()
        try:
            # For systems where a thread in ``accept`` is not woken by that, and for descriptors that are lost.
            connect(self.address).close()
        except (OSError, ValueError):
            pass

    def drop(self):
        """In a forked child: closes the copy of the parent's socket, and nothing else."""
        self._closed = True
        self._channel.close()

    def _run(self):
        wait = AGAIN
        while not self._closed:
            try:
                channel = self._channel.accept()
                wait = AGAIN
            except OSError as error:
                if self._closed or error.errno == errno.ECONNABORTED:
                    continue
                is_lost = isinstance(error, Lost) or not self._channel.is_ours()
                if (is_lost or error.errno not in _NO_ROOM) and self._made_anew():
                    continue
                native.sleep(wait)
                wait = min(wait * 2, LONGEST_AGAIN)
            else:
                self._let_in(channel)
        self._channel.close()

    def _let_in(self, channel):
        with self._counting:
            full = self._closed or self._undecided >= UNDECIDED
            self._undecided += not full
        if full:
            channel.close()
            return
        try:
            native.start(lambda: self._decide(channel), 'imago-link')
        except RuntimeError:
            # There are no more threads to be had, or the interpreter is ending.
            self._decided()
            channel.close()

    def _decide(self, channel):
        once = native.Lock()

        def decided():
            if once.acquire(False):
                self._decided()

        try:
            self._admit(channel, decided)
        finally:
            decided()
            channel.close()

    def _decided(self):
        with self._counting:
            self._undecided -= 1

    def _made_anew(self):
        try:
            self._channel.close()
            if self.address.startswith('unix:'):
                _remove(self.address[len('unix:') :])
            self._channel, self.address = listen_at(self.address)
            self._moved(self.address)
        except OSError:
            return False
        return True
