"""Functions whose calls are taken down, without a kernel around them."""

import sys
import types
import unittest
from unittest import mock

from imago import tracing_monitoring
from imago.clock import Clock
from imago.handles import Handles
from imago.tracing import Tracing

HAS_MONITORING = hasattr(sys, 'monitoring')


class Traced(unittest.TestCase):
    """A namespace with functions, and the tracepoints of a kernel that has nothing else."""

    def setUp(self):
        self.clock = Clock()
        self.session = types.SimpleNamespace(link=object())
        self.handles = Handles('abcd1234')
        self.tracing = Tracing(self.handles, self.clock, self.session)
        self.image = types.SimpleNamespace(namespace={'__name__': 'app'})
        self.addCleanup(self.clock.stop)
        self.addCleanup(self.tracing.close)

    def define(self, **names):
        self.image.namespace.update(names)

    def looked(self, name, calls=10, expires_ms=600_000):
        query = {'name': name, 'calls': calls, 'expires_ms': expires_ms, 'who': 'test'}
        return self.tracing.trace(self.image, query)

    def trace(self, name, **more):
        looked = self.looked(name, **more)
        self.assertEqual('found', looked['type'], looked)
        return looked['value']['id']

    def untrace(self, name):
        return self.tracing.untrace(self.image, {'tracepoint': name})['value']

    def page(self, name):
        return self.tracing.traces(self.image, {'tracepoint': name, 'from': 1, 'count': 100})['value']

    def calls(self, name):
        return self.page(name)['calls']

    def state(self, name):
        return self.page(name)['tracepoints'][0]['state']

    def assertIsOut(self):
        """Nothing of ours is in the program."""
        if HAS_MONITORING:
            self.assertEqual([None] * 6, [sys.monitoring.get_tool(tool) for tool in range(6)])


def texts(call):
    return {one['name']: one['value']['repr']['text'] for one in call['arguments']}


def outcome(call):
    one = call['outcome']
    return [value['repr']['text'] for value in one['values']] if one['type'] == 'returned' else one['type']


class WithCodeGivenBack:
    """The same, as it is done before 3.12, or where all tool ids are taken."""

    def setUp(self):
        patch = mock.patch.object(tracing_monitoring, '_TOOLS', ())
        patch.start()
        self.addCleanup(patch.stop)
        super().setUp()
