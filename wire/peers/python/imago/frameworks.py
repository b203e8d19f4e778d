"""Errors that libraries tell of in ways of their own, each joined when it is imported. PYTEST_DONT_REWRITE

Django, Flask and Quart send a signal for a request that failed, and Celery for a task that is tried again; Litestar looks
up what answers for an error; pytest has a hook for a test that failed; rich reads a traceback itself before it prints one;
loguru and Twisted have logs of their own.
"""

import re
import sys
from functools import partial
from types import GetSetDescriptorType

from imago import native
from imago.looking.fields import (
    ABSENT,
    class_lookup,
    inherits,
    is_compiled,
    own_field,
    read_member,
    slot_fields,
    stored,
)
from imago.looking.frames import suspended_variables

#: What is done with an error: ``tell(error, kind, where=…)``, as ``program_errors.py`` has it.
_tell = None


def begin(tell):
    """From here on errors are told: of what is imported already, and of what is imported from here on."""
    global _tell
    _tell = tell
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
    for name in _JOIN:
        if name in sys.modules:
            _join(name, sys.modules[name])


def end():
    """Takes all of it back."""
    global _tell
    _tell = None
    if _finder in sys.meta_path:
        sys.meta_path.remove(_finder)
    while _joined:
        _, leave = _joined.popitem()
        leave()


def join_at(name, join):
    """Has ``join(names of the module)`` called when the module is imported; what that returns leaves it again."""
    _JOIN[name] = join


def _join(name, module):
    if _tell is None or name in _joined:
        return
    try:
        leave = _JOIN[name](vars(module))
        if leave is not None:
            _joined[name] = leave
    except Exception:
        native.report_fault('joining %s' % name)


class _Finder:
    """Lets the finders behind it find a module, and joins that once its code has run."""

    def find_spec(self, name, path=None, target=None):
        if name not in _JOIN:
            return None
        behind = sys.meta_path[sys.meta_path.index(self) + 1 :] if self in sys.meta_path else []
        for finder in behind:
            find = getattr(finder, 'find_spec', None)
            spec = None if find is None else find(name, path, target)
            if spec is not None:
                if hasattr(spec.loader, 'exec_module'):
                    spec.loader = _Loader(spec.loader)
                return spec
        return None


class _Loader:
    def __init__(self, loader):
        self._loader = loader

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        _join(module.__name__, module)


_finder = _Finder()
#: By the name of a module: what leaves it again.
_joined = {}


# Requests


def _at_signals(hooks, **uid):
    """Has each of ``hooks`` called at the signal of its name, of Django's, of Celery's or of blinker."""

    def join(module):
        joined = [(module.get(name), hook) for name, hook in hooks.items()]
        if any(signal is None for signal, _ in joined):
            return None
        for signal, hook in joined:
            signal.connect(hook, weak=False, **uid)
        return lambda: [signal.disconnect(hook, **uid) for signal, hook in joined]

    return join


def _django_failed(sender=None, request=None, **_):
    _told(sys.exc_info()[1], 'request', where=lambda: request_told(request))


def _flask_failed(sender=None, exception=None, **_):
    _told(exception, 'request')


async def _quart_failed(sender=None, exception=None, **_):
    # What is no coroutine function, Quart would run on another thread.
    _told(exception, 'request')


def _litestar(module):
    """It looks up what answers for each error of a request. What answers for its very class has expected it."""
    kind = module.get('ExceptionHandlerMiddleware')
    if kind is None or 'get_exception_handler' not in module:
        return None
    answered, closed = (vars(sys.modules['litestar.exceptions'])[one] for one in ('HTTPException', 'WebSocketException'))

    def failed(args, named):
        error = given('exc', 1, args, named)
        status = own_field(error, 'status_code') if inherits(error, answered) else None
        if not inherits(error, closed) and (type(status) is not int or status >= 500):
            _told(error, 'request')

    def looked_up(args, named, found):
        handlers = given('exception_handlers', 0, args, named)
        general = (500, Exception) if type(handlers) is dict else ()
        if found is None or any(found is handlers.get(one) for one in general):
            failed(args, named)

    left = [_hooked(module, 'get_exception_handler', after=looked_up), _hooked(kind, 'handle_websocket_exception', failed)]
    return lambda: [leave() for leave in left if leave is not None]


#: Where a request is found: in the dict ``scope`` of ASGI; in a dict of WSGI, which is passed under any name; in an object
#: of Django, Tornado, aiohttp, Sanic and Scrapy; and for ``http.server`` in the handler itself.
_WSGI = ('REQUEST_METHOD', 'PATH_INFO')
#: A larger dict holds no request: to walk it would be dear.
_MOST_FIELDS = 1000
#: Code whose arguments have held no request, and how often, by its ``id``: to look at all variables of a stack each time
#: would be dear.
_without_request = {}
_MOST_CODES = 4096
#: So often code is looked at in vain: its first calls may be no requests, such as a test that it makes of itself.
_MOST_MISSES = 16
_METHODS = ('method', '_method')
#: The methods by which Tornado and ``http.server`` handle one request: to look at all methods of a stack would be dear.
_HANDLERS = frozenset(['_execute', 'handle_one_request'])
_PATHS = ('path', '_path', '_url', 'raw_url', '_message')
#: Characters of a request, and of the name of a task or a test.
WHERE_CHARS = 400
_NUMBERED = re.compile(r'[^/]*[0-9][^/]*')


def request_of(frame):
    """``(text, sort)`` of the request that a frame was called for, by its arguments; ``None`` where it is none."""
    code = frame.f_code
    arguments = code.co_varnames[: code.co_argcount]
    told = _request_in(suspended_variables(frame).get('scope'), 'method', 'path') if 'scope' in arguments else None
    told = told or _wsgi_of(frame, arguments)
    if told is not None:
        return told
    if 'request' in arguments:
        return request_told(suspended_variables(frame).get('request'))
    if arguments[:1] == ('self',) and code.co_name in _HANDLERS:
        handler = suspended_variables(frame).get('self')
        request = own_field(handler, 'request')
        told = None if request is ABSENT else request_told(request)
        return told or _request_words(own_field(handler, 'command'), own_field(handler, 'path'))
    return None


def _wsgi_of(frame, arguments):
    code = frame.f_code
    # A server has it in a variable of that name, which may not be set yet.
    is_named = 'environ' in code.co_varnames
    # An application takes two arguments.
    _, misses = _without_request.get(id(code), (code, 0))
    if not is_named and (len(arguments) < 2 or misses >= _MOST_MISSES):
        return None
    values = suspended_variables(frame)
    for name in ('environ', *arguments):
        told = _request_in(values.get(name), *_WSGI)
        if told is not None:
            return told
    if len(_without_request) >= _MOST_CODES:
        _without_request.clear()
    _without_request[id(code)] = (code, misses + 1)
    return None


def _request_in(fields, method, path):
    if type(fields) is not dict or len(fields) > _MOST_FIELDS:
        return None
    method = stored(fields, method)
    # A socket of ASGI has none.
    method = stored(fields, 'type') if method is ABSENT else method
    return None if method is ABSENT else _request_words(method, stored(fields, path))


def request_told(request):
    """The same of an object, by what it stores."""
    method, path = (_first_text(request, names) for names in (_METHODS, _PATHS))
    return _request_words(method, path)


def _first_text(obj, names):
    slots = dict(slot_fields(obj))
    for name in names:
        value = own_field(obj, name)
        value = slots.get(name, ABSENT) if value is ABSENT else value
        if name == '_message' and value is not ABSENT:
            # aiohttp keeps the first line of the request there, in a class that is compiled or a named tuple.
            entry = class_lookup(type(value), 'path')
            if is_compiled(type(value)) and entry is not None and type(entry[1]) is GetSetDescriptorType:
                value = read_member(entry[1], value)
            else:
                value = tuple.__getitem__(value, 1) if issubclass(type(value), tuple) and len(value) > 1 else ABSENT
        if type(value) is bytes:
            value = value[:WHERE_CHARS].decode('utf-8', 'replace')
        if type(value) is str:
            return value
    return None


def _request_words(method, path):
    """Two orders of one view are of one sort."""
    if type(method) is not str or type(path) is not str:
        return None
    text = ('request %s %s' % (method, path))[:WHERE_CHARS]
    return text, ('request', method, _NUMBERED.sub('', path[:WHERE_CHARS].partition('?')[0]))


# Tasks


def _celery_retries(sender=None, request=None, reason=None, **_):
    retries, error = own_field(request, 'retries'), own_field(reason, 'exc')
    error = error if issubclass(type(error), BaseException) else reason
    _celery_told(sender, error, 'retried', ', retry %d' % (retries + 1 if type(retries) is int else 1))


def _celery_fails(sender=None, exception=None, **_):
    """Celery logs it next, which is then the same error."""
    _celery_told(sender, exception, 'logged')


def _celery_told(task, error, kind, how=''):
    name = class_lookup(type(task), 'name')
    if name is None or type(name[1]) is not str:
        return
    name = name[1][:WHERE_CHARS]
    _told(error, kind, where=lambda: ('task %s%s' % (name, how), ('task', name)))


# Tests


def _pytest(module):
    plugins = module.get('default_plugins')
    if type(plugins) is not tuple:
        return None
    module['default_plugins'] = (*plugins, __name__)
    return lambda: module.update(default_plugins=plugins)


def pytest_exception_interact(node, call):
    """Called by pytest, for which this module is a plugin: a test, or the collection of tests, has failed."""
    name = node.nodeid
    _told(call.excinfo.value, 'test', where=lambda: ('test %s' % name[:WHERE_CHARS], ('test', name)))


# What is printed, or logged in a way of its own


def _rich(module):
    def read(args, named):
        error = given('exc_value', 2, args, named)
        if inherits(error, Exception):
            _told(error, 'printed')

    return _hooked(module.get('Traceback', object), 'extract', read)


def _loguru(module):
    return _hooked(module, 'RecordException', lambda args, named: _told(given('value', 1, args, named), 'logged'))


def _twisted(module):
    publisher = module.get('globalLogPublisher')
    if publisher is None:
        return None
    publisher.addObserver(_twisted_logged)
    return lambda: publisher.removeObserver(_twisted_logged)


def _twisted_logged(event):
    _told(own_field(stored(event, 'log_failure'), 'value'), 'logged')


def _hooked(holder, name, tell=None, after=None):
    """Has ``tell(args, named)`` called before what a module, or a class, has by that name, and ``after(args, named, found)``
    once that has returned; returns what takes it back.
    """
    names, put = (holder, holder.__setitem__) if type(holder) is dict else (vars(holder), partial(setattr, holder))
    before = names.get(name)
    function = getattr(before, '__func__', before)

    def hook(*args, **named):
        if tell is not None:
            tell(args, named)
        found = function(*args, **named)
        if after is not None:
            after(args, named, found)
        return found

    if before is None:
        return None
    made = hook if function is before else type(before)(hook)
    put(name, made)
    return lambda: names.get(name) is made and put(name, before)


def given(name, at, args, named):
    """An argument that may be given by its place or its name."""
    return args[at] if len(args) > at else named.get(name)


def _told(error, kind, **more):
    if _tell is not None:
        _tell(error, kind, **more)


_JOIN = {
    'django.core.signals': _at_signals({'got_request_exception': _django_failed}, dispatch_uid='imago'),
    'flask.signals': _at_signals({'got_request_exception': _flask_failed}),
    'quart.signals': _at_signals({'got_request_exception': _quart_failed}),
    'litestar.middleware._internal.exceptions.middleware': _litestar,
    'litestar.middleware.exceptions.middleware': _litestar,
    'celery.signals': _at_signals({'task_retry': _celery_retries, 'task_failure': _celery_fails}, dispatch_uid='imago'),
    '_pytest.config': _pytest,
    'rich.traceback': _rich,
    'loguru._logger': _loguru,
    'twisted.logger._global': _twisted,
}
