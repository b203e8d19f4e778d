"""What handles, traces and remembered results keep alive takes a bounded number of bytes."""

import os
import unittest
from array import array

from imago.handles import MOST_BYTES, Handles, StaleHandle
from imago.looking.sizes import bytes_of
from imago.tracing_calls import KEPT_BYTES, Recorder
from tests.daemon import KernelCase
from tests.looking_samples import values
from tests.looking_support import FIRED, make

try:
    import numpy
except ImportError:
    numpy = None
try:
    import pandas
except ImportError:
    pandas = None
try:
    import polars
except ImportError:
    polars = None
try:
    import torch
except ImportError:
    torch = None

MB = 1024 * 1024


class Thing:
    """An object of the program's, which says when it goes."""

    gone = []

    def __init__(self, name, megabytes):
        self.name = name
        self.cells = [bytearray(MB) for _ in range(megabytes)]

    def __sizeof__(self):
        raise AssertionError('asked for its size')

    def __del__(self):
        Thing.gone.append(self.name)


class Sizes(unittest.TestCase):
    def assert_about(self, megabytes, value):
        self.assertAlmostEqual(1, bytes_of(value) / (megabytes * MB), delta=0.25)

    def test_plain_data_and_what_built_in_containers_hold_are_counted(self):
        for value in (bytes(10 * MB), bytearray(10 * MB), 'x' * (10 * MB), array('d', bytes(10 * MB))):
            self.assert_about(10, value)
            del value
        self.assert_about(10, [bytes(MB) for _ in range(10)])
        self.assert_about(10, {'a': [bytes(5 * MB)], 'b': (bytes(5 * MB),)})
        self.assert_about(32, [float(number) for number in range(MB)])
        self.assert_about(10, memoryview(bytes(10 * MB)))

    def test_what_many_places_share_counts_once(self):
        self.assert_about(8, [None] * MB)
        text = 'x' * MB
        self.assert_about(9, [text] * MB)

    def test_an_object_counts_with_what_only_it_holds_and_is_not_asked(self):
        self.assert_about(10, Thing('a', 10))
        shared = Thing('b', 10)
        self.assertLess(bytes_of([shared]), MB)
        self.assert_about(20, [Thing(number, 1) for number in range(20)])

    def test_no_value_is_asked_for_its_size_and_none_is_hard_to_measure(self):
        samples = [*values(), [make() for _ in range(10)]]
        FIRED.clear()
        for value in samples:
            bytes_of(value)
        self.assertEqual([], FIRED)
        endless = []
        for _ in range(5000):
            endless = [endless, endless]
        endless.append(endless)
        self.assertGreater(bytes_of(endless), 0)

    @unittest.skipIf(numpy is None, 'numpy is not installed')
    def test_arrays_count_by_their_cells_and_a_view_by_what_it_alone_keeps(self):
        self.assert_about(8, numpy.zeros(MB))
        self.assert_about(8, numpy.zeros(MB).reshape(1024, 1024)[:3])
        whole = numpy.zeros(MB)
        self.assertLess(bytes_of(whole[:3]), MB)
        self.assert_about(18, numpy.array([bytes(MB) for _ in range(18)], object))

    @unittest.skipIf(pandas is None, 'pandas is not installed')
    def test_frames_of_pandas_count_by_their_blocks(self):
        self.assert_about(16, pandas.DataFrame({'a': numpy.zeros(MB), 'b': numpy.ones(MB)}))
        self.assert_about(8, pandas.Series(numpy.zeros(MB)))

    @unittest.skipIf(polars is None, 'polars is not installed')
    def test_frames_of_polars_count_as_polars_estimates_them(self):
        self.assert_about(8, polars.DataFrame({'a': [0.0] * MB}))

    @unittest.skipIf(torch is None, 'torch is not installed')
    def test_tensors_count_by_shape_and_type(self):
        self.assert_about(4, torch.zeros(MB))
        self.assert_about(4, [torch.nn.Linear(1024, 1024)])


class Bounded(unittest.TestCase):
    def setUp(self):
        Thing.gone = []
        self.handles = Handles('abcd1234')

    def stale(self, handle):
        with self.assertRaises(StaleHandle) as raised:
            self.handles.find(handle)
        return raised.exception.because

    def test_large_values_make_room_for_newer_ones_and_their_handles_say_so(self):
        handles = [self.handles.keep_value(Thing(number, 20)) for number in range(5)]
        self.handles.let_go()
        self.assertEqual([0, 1], Thing.gone)
        self.assertIn('it was large, and has made room for newer ones', self.stale(handles[0]))
        for handle in handles[2:]:
            self.handles.find(handle)

    def test_the_newest_is_kept_however_large_it_is_and_no_longer(self):
        first = self.handles.keep_value(bytes(2 * MOST_BYTES))
        small = self.handles.keep_value([1, 2])
        self.handles.find(first)
        second = self.handles.keep_value(bytes(2 * MOST_BYTES))
        self.handles.find(second)
        self.assertIn('large', self.stale(first))
        self.assertEqual([1, 2], self.handles.find(small).value)

    def test_what_the_program_holds_itself_keeps_its_handle(self):
        held = [Thing(number, 30) for number in range(5)]
        handles = [self.handles.keep_value(thing) for thing in held]
        for handle in handles:
            self.handles.find(handle)
        del held[1:]
        self.handles.keep_value(Thing('last', 1))
        self.handles.let_go()
        self.assertEqual([1, 2], Thing.gone)
        self.handles.find(handles[0])

    def test_one_value_under_several_handles_counts_once_and_goes_as_a_whole(self):
        thing = Thing('a', 40)
        handles = [self.handles.keep_value(thing), self.handles.keep_items(thing), self.handles.keep_repr(thing)]
        del thing
        for handle in handles:
            self.handles.find(handle)
        self.handles.keep_value(Thing('b', 40))
        self.handles.let_go()
        self.assertEqual(['a'], Thing.gone)
        for handle in handles:
            self.assertIn('large', self.stale(handle))

    def test_the_one_used_last_stays_longest(self):
        first, second = (self.handles.keep_value(Thing(name, 30)) for name in 'ab')
        self.handles.find(first)
        self.handles.keep_value(Thing('c', 30))
        self.handles.find(first)
        self.assertIn('large', self.stale(second))

    def test_what_has_grown_since_is_measured_again_when_it_is_shown_again(self):
        growing = [bytes(MB)]
        handle = self.handles.keep_value(growing)
        other = self.handles.keep_value(bytes(40 * MB))
        growing.append(bytes(40 * MB))
        self.assertEqual(handle, self.handles.keep_value(growing))
        self.assertIn('large', self.stale(other))

    def test_looks_alone_put_aside_a_bounded_number_of_bytes(self):
        for number in range(20):
            self.handles.keep_value(Thing(number, 30))
        self.assertGreater(len(Thing.gone), 12)

    def test_traced_values_are_kept_within_a_bound_of_bytes(self):
        recorder = Recorder(self.handles)
        taken = [recorder._taken([bytes(MB)]) for _ in range(40)]
        kept = [one for one in taken if one.shown(self.handles).get('handle')]
        self.assertLessEqual(len(kept), KEPT_BYTES // MB)
        self.assertGreater(len(kept), KEPT_BYTES // MB - 3)
        self.assertNotIn('handle', recorder._taken([bytes(KEPT_BYTES)]).shown(self.handles))



class Recalled(KernelCase):
    def test_a_large_result_that_has_made_room_is_recalled_as_its_text_and_its_handle_is_stale(self):
        first = self.link.start("'x' * 80_000_000")
        told = first.answer()
        self.link.evaluate("'y' * 80_000_000")
        self.assertEqual(told, self.link.call('recall', call=first.name).answer())
        handle = told['values'][0]['handle']
        looked = self.link.call('more', deadline_ms=60_000, **{'handle': handle, 'from': 0, 'count': 10}).answer()
        self.assertEqual('stale_handle', looked['type'])
        self.assertIn('it was large', looked['because'])
        self.assertEqual("'x'", self.link.evaluate("'x'")['values'][0]['repr']['text'])

    @unittest.skipUnless(os.path.exists('/proc/self/status'), 'this system has no /proc')
    def test_eight_results_of_100_megabytes_leave_one_alive(self):
        self.link.evaluate("b'x' * 100_000_000")
        with_one = self.resident()
        self.assertGreater(with_one, 100 * MB)
        for number in range(7):
            self.link.evaluate("b'x' * %d" % (100_000_001 + number))
        self.assertLess(self.resident() - with_one, 50 * MB)
        self.assertLess(self.resident(), 200 * MB)

    def resident(self):
        with open('/proc/%s/status' % self.link.value("__import__('os').getpid()")) as status:
            (line,) = [line for line in status if line.startswith('VmRSS')]
        return int(line.split()[1]) * 1024


if __name__ == '__main__':
    unittest.main()
