"""An image in the test's own process, in which errors are kept post mortem."""

import unittest

from imago.places import place_for
from tests.daemon import WAIT
from tests.evaluating import Guest

LEASE = {'lease_ms': 600_000}
SHOP = (
    'class Order:\n    def __init__(self): self.id = 7\n'
    'def total(order, *rest, tax=2, **more):\n    lines = list(range(1000))\n    return order.price * tax\n'
    'def go():\n    order = Order()\n    return total(order)\n'
)


class SuspendingCase(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.guest = Guest(place_for('thread'))
        self.guest.evaluate(SHOP)
        self.addCleanup(self.guest.evaluator.stop)
        self.addCleanup(self.guest.evaluator.suspensions.lose, True, 'The test is over.')

    def suspend(self, source='go()', lease_ms=600_000, **more):
        outcome = self.guest.evaluate(source, suspend={'lease_ms': lease_ms}, **more)
        self.assertEqual(outcome['type'], 'suspended', outcome)
        return outcome['suspension']['id']

    def state(self, name, start=0, count=50):
        answer = self.guest.look('suspension', suspension=name, **{'from': start, 'count': count})
        self.assertEqual(answer['type'], 'found', answer)
        return answer['value']

    def frame(self, name, number=0):
        answer = self.guest.look('frame', suspension=name, frame=number)
        self.assertEqual(answer['type'], 'found', answer)
        return answer['value']

    def in_frame(self, name, source, number=0, **more):
        return self.guest.do(suspension=name, frame=number, source=source, **more).answer()

    def value_in(self, name, source, number=0):
        outcome = self.in_frame(name, source, number)
        self.assertEqual(outcome['type'], 'done', outcome)
        return outcome['values'][0]['repr']['text']

    def resume(self, name, way='leave', **more):
        return self.guest.do(resume=name, way=way, **more).answer()

    def live(self):
        return [one['id'] for one in self.guest.look('suspensions')['value']['suspensions']]

    def ended(self):
        """How the next suspension has ended; waits for it."""
        end = self.guest.ends.get(timeout=WAIT)
        return end['id'], end['how']
