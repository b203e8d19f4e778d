"""The methods that the daemon calls, by name: what each takes, and where its work is done.

All of them are entered on the reader's thread and return at once. ``evaluate`` goes to the evaluator, looking to
workers, and what can be said from memory is answered on the spot.
"""

from imago import exceptions, looking
from imago.clock import report_fault
from imago.interrupting import DeadlineExceeded
from imago.link import Fail

LONGEST_LINE = 10_000_000


class Service:
    def __init__(self, evaluator, interrupts, workers, clock, namespace, handles, stop):
        self._evaluator = evaluator
        self._interrupts = interrupts
        self._workers = workers
        self._clock = clock
        self._namespace = namespace
        self._handles = handles
        self._stop = stop
        self._methods = {
            'evaluate': self._evaluate,
            'recall': self._recall,
            'globals': self._globals,
            'inspect': self._inspect,
            'more': self._more,
            'interrupt': self._interrupt,
            'status': self._status,
            'stop': self._stop_kernel,
        }

    def serve(self, served, method, params):
        run = self._methods.get(method)
        if run is None:
            raise Fail('unknown_method', 'this kernel has no method %r' % method[:100])
        if not isinstance(params, dict):
            raise Fail('invalid_params', '%s takes an object of parameters' % method)
        try:
            run(served, params)
        except Fail:
            raise
        except Exception as error:
            report_fault('the method %s' % method)
            raise Fail('fault', '%s failed with %s: %s' % (method, type(error).__name__, error)) from None

    def _evaluate(self, served, params):
        call, source = _text(params, 'call'), _text(params, 'source')
        file, line = params.get('file'), params.get('line')
        if file is not None:
            file = _text(params, 'file')
        if line is not None:
            line = _count(params, 'line', 1, LONGEST_LINE)
        self._evaluator.evaluate(served, call, source, (file, line))

    def _recall(self, served, params):
        self._evaluator.recall(served, _text(params, 'call'))

    def _interrupt(self, served, params):
        self._evaluator.interrupt(_text(params, 'call'), served.result)

    def _status(self, served, params):
        served.result(self._evaluator.status())

    def _stop_kernel(self, served, params):
        served.result(None)
        self._stop()

    def _globals(self, served, params):
        query = {
            'modules': _flag(params, 'modules'),
            'limit': _count(params, 'limit', 0),
        }
        for name in ('after', 'filter'):
            if params.get(name) is not None:
                query[name] = _text(params, name)
        self._look(served, params, lambda: looking.globals_page(self._namespace, query))

    def _more(self, served, params):
        query = {
            'handle': _text(params, 'handle'),
            'from': _count(params, 'from', 0),
            'count': _count(params, 'count', 0),
        }
        self._look(served, params, lambda: looking.more(self._handles, query))

    def _inspect(self, served, params):
        expr = _text(params, 'expr')
        if not _flag(params, 'evaluate'):
            self._look(served, params, lambda: looking.inspect_static(self._namespace, expr, self._handles))
            return
        done = self._deadline(served, params)

        def probe():
            self._answer(served, done, lambda: self._inspect_evaluated(expr, _count(params, 'deadline_ms', 1)))

        if not self._evaluator.probe(probe):
            status = self._evaluator.status()['running'] or {'call': '', 'elapsed_ms': 0}
            done()
            served.result({'type': 'busy', **status})

    def _inspect_evaluated(self, expr, deadline_ms):
        guard = self._interrupts.guard
        try:
            with guard(deadline_ms / 1000):
                return looking.inspect_evaluated(self._namespace, expr, self._handles, self._evaluator.value, guard)
        except DeadlineExceeded:
            return {'type': 'timed_out', 'deadline_ms': deadline_ms}
        except BaseException as error:
            return {'type': 'raised', 'exception': exceptions.report(error, guard)}

    def _look(self, served, params, look):
        done = self._deadline(served, params)
        self._workers.do(lambda: self._answer(served, done, look))

    def _deadline(self, served, params):
        """Answers ``timed_out`` when the deadline of a look is over. Returns a function that calls it off."""
        deadline_ms = _count(params, 'deadline_ms', 1)
        late = {'type': 'timed_out', 'deadline_ms': deadline_ms}
        return self._clock.after(deadline_ms / 1000, lambda: served.result(late))

    def _answer(self, served, done, look):
        try:
            result = look()
        except Exception as error:
            report_fault('a look')
            done()
            served.fail('fault', 'looking failed with %s: %s' % (type(error).__name__, error))
            return
        done()
        served.result(result)


def _text(params, name):
    value = params.get(name)
    if not isinstance(value, str):
        raise Fail('invalid_params', '%s must be a text' % name)
    return value


def _flag(params, name):
    value = params.get(name)
    if not isinstance(value, bool):
        raise Fail('invalid_params', '%s must be true or false' % name)
    return value


def _count(params, name, least, most=None):
    value = params.get(name)
    # A float is what a codec may make of a whole number.
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if type(value) is not int or value < least or (most is not None and value > most):
        raise Fail('invalid_params', '%s must be a whole number, %d or more' % (name, least))
    return value
