"""numpy: what is shown of arrays and their cells, and that none of it runs code of the user's."""

import array as array_module
import mmap
import os
import tempfile
import types
import unittest

from tests.adapters_support import Adapters
from tests.looking_samples import Text
from tests.looking_support import FIRED, asked, hooks, make

try:
    import numpy
except ImportError:
    numpy = None


@unittest.skipIf(numpy is None, "numpy is not installed")
class Numpy(Adapters):
    def test_an_array_is_shown_by_shape_type_and_items(self):
        self.assertEqual("<numpy.ndarray shape (3,), dtype int64 [1, 2, 3]>", self.text(numpy.array([1, 2, 3])))
        self.assertEqual(
            "<numpy.ndarray shape (2, 2), dtype float64 [[0.0, 1.5], [nan, inf]]>",
            self.text(numpy.array([[0, 1.5], [numpy.nan, numpy.inf]])),
        )
        self.assertEqual("<numpy.ndarray shape (), dtype int64 [7]>", self.text(numpy.array(7)))
        self.assertEqual("<numpy.ndarray shape (0, 3), dtype bool []>", self.text(numpy.zeros((0, 3), bool)))

    def test_a_look_tells_size_range_and_layout(self):
        array = numpy.arange(6.0).reshape(2, 3)
        seen = self.seen(array)
        self.assertEqual(("sequence", {"shape": [2, 3]}), (seen["kind"], seen["size"]))
        self.assertEqual(["[0.0, 1.0, 2.0]", "[3.0, 4.0, 5.0]"], seen["sample"]["items"])
        self.assertEqual(
            ["48 bytes, its memory belongs to another object", "min 0.0, max 5.0, 0 nan"], self.card(array)[1:]
        )
        self.assertEqual(["16 bytes", "min 1.5, max 1.5, 1 nan"], self.card(numpy.array([1.5, numpy.nan]))[1:])
        self.assertEqual(["8 bytes", "all 1 nan"], self.card(numpy.array([numpy.nan]))[1:])
        self.assertEqual(["3 bytes", "2 true, 1 false"], self.card(numpy.array([True, True, False]))[1:])
        self.assertEqual("min 0.1, max 0.1, 0 nan", self.card(numpy.array([0.1], "f4"))[2])
        self.assertIn("Fortran order", self.card(numpy.zeros((2, 2), order="F"))[1])
        self.assertIn("strides (32,)", self.card(numpy.arange(9)[::4])[1])
        fixed = numpy.arange(2)
        fixed.flags.writeable = False
        self.assertIn("read-only", self.card(fixed)[1])

    def test_cells_of_every_sort_are_written(self):
        self.assertIn("[2020-01-02, NaT]", self.text(numpy.array(["2020-01-02", "NaT"], "M8[D]")))
        self.assertIn("[None, [1], 'a']", self.text(numpy.array([None, [1], "a"], object)))
        for array, text in (
            (numpy.array([0.1], "f4"), "dtype float32 [0.1]"),
            (numpy.array([0.1], "f2"), "dtype float16 [0.1]"),
            (numpy.array([1 + 2j]), "dtype complex128 [(1+2j)]"),
            (numpy.array([True]), "dtype bool [True]"),
            (numpy.array([1], ">i4"), "dtype >i4 [1]"),
            (numpy.array(["ab"]), "dtype <U2 ['ab']"),
            (numpy.array([b"ab"]), "dtype S2 [b'ab']"),
            (numpy.array(["2020-01-02"], "M8[D]"), "dtype datetime64[D] [2020-01-02]"),
            (numpy.array([5], "m8[s]"), "dtype timedelta64[s] [5 seconds]"),
            (numpy.array([("a", 1)], [("n", "U3"), ("i", "i4")]), "dtype [n <U3, i int32] [('a', 1)]"),
            (
                numpy.zeros(1, [("m", "i1", (2,))]),
                "dtype [m int8 (2,)] [(<numpy.ndarray shape (2,), dtype int8 [0, 0]>,)]",
            ),
            (numpy.array([None], object), "dtype object [None]"),
        ):
            self.assertEqual(f"<numpy.ndarray shape (1,), {text}>", self.text(array[:1]))

    def test_texts_of_any_length_are_written(self):
        if not hasattr(numpy, "dtypes") or not hasattr(numpy.dtypes, "StringDType"):
            self.skipTest("this numpy has none")
        array = numpy.array(["ab", "c"], numpy.dtypes.StringDType())
        self.assertEqual("<numpy.ndarray shape (2,), dtype StringDType ['ab', 'c']>", self.text(array))
        odd = numpy.array(["ab"], numpy.dtypes.StringDType(na_object=make()))
        FIRED.clear()
        self.look_everywhere(odd)

    def test_single_values_are_written_as_numpy_writes_them(self):
        for value, text, kind in (
            (numpy.int64(5), "np.int64(5)", "number"),
            (numpy.float32(0.1), "np.float32(0.1)", "number"),
            (numpy.float64(0.1), "np.float64(0.1)", "number"),
            (numpy.complex128(1j), "np.complex128(1j)", "number"),
            (numpy.True_, "np.True_", "bool"),
            (numpy.datetime64("2020-01-02"), "np.datetime64('2020-01-02')", "other"),
            (numpy.timedelta64(3, "s"), "np.timedelta64('3 seconds')", "other"),
            (numpy.dtype("f8"), "dtype('float64')", None),
            (numpy.dtype([("a", "i4"), ("b", "U3")]), "dtype('[a int32, b <U3]')", None),
            (numpy.zeros(1, [("a", "i4"), ("b", "O")])[0], "<numpy.void a=0, b=0>", None),
            (numpy.rec.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")])[0], "<numpy.void a=1, b=2.0>", None),
            (numpy.random.default_rng(), "<numpy.random.Generator PCG64>", None),
            (numpy.random.RandomState(1), "<numpy.random.RandomState MT19937>", None),
        ):
            self.assertEqual(text, self.text(value))
            if kind is not None:
                self.assertEqual(kind, self.seen(value)["kind"], text)

    def test_arrays_of_numpys_own_classes_are_read_as_plain_ones(self):
        masked = numpy.ma.array([[1, 2], [3, 4]], mask=[[0, 1], [0, 0]])
        text = "<numpy.ma.MaskedArray shape (2, 2), dtype int64, 1 masked [[1, --], [3, 4]]>"
        self.assertEqual(text, self.text(masked))
        self.assertEqual("<numpy.ma.MaskedArray shape (1,), dtype int64 [1]>", self.text(numpy.ma.array([1])))
        self.assertIn("numpy.matrix shape (1, 2)", self.text(numpy.matrix([[1, 2]])))
        self.assertIn("numpy.recarray shape (1,)", self.text(numpy.rec.array([(1,)], dtype=[("a", "i4")])))

    def test_a_mapped_file_is_described_and_never_read(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "cells")
            mapped = numpy.memmap(path, "i4", "w+", shape=(100_000,))
            arrays = [mapped, numpy.asarray(mapped), mapped[5:].view(numpy.ndarray)]
            with open(path, "r+b") as file:
                held = mmap.mmap(file.fileno(), 0)
                arrays += [numpy.frombuffer(held, "i4"), numpy.frombuffer(memoryview(held)[8:], "i4")]
                arrays += [numpy.ma.array(arrays[1], copy=False), numpy.matrix(arrays[1], copy=False)]
                os.truncate(path, 0)  # Reading one of the cells would end this process.
                for array in arrays:
                    said = self.look_everywhere(array)
                    self.assertIn("dtype int32", said)
                    self.assertNotIn("sample", self.seen(array))
                self.assertIn("mode='w+'", self.text(mapped))
                self.assertEqual("400.0 kB of a mapped file, not read", self.card(mapped)[1])

    def test_memory_of_an_owner_that_is_not_known_is_never_read(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "cells")
            mapped = numpy.memmap(path, "i4", "w+", shape=(100_000,))
            records = numpy.memmap(os.path.join(folder, "records"), "i4,f8", "w+", shape=(1000,))
            plain, posing = numpy.asarray(mapped), types.SimpleNamespace(held=mapped)
            posing.__array_interface__ = plain.__array_interface__
            arrays = {
                "a numpy.lib": numpy.lib.stride_tricks.as_strided(plain, (9,), (4,)),
                "a types.SimpleNamespace": numpy.asarray(posing),
                "a PyCapsule": numpy.from_dlpack(plain),
                "a mmap.mmap": records[3],
            }
            hidden = numpy.ma.array(numpy.zeros(9), mask=numpy.asarray(numpy.memmap(path, "?", "r+", shape=(9,))))
            hidden._mask = numpy.lib.stride_tricks.as_strided(plain.view("?"), (9,), (1,))
            os.truncate(path, 0)  # Reading one of the cells would end this process.
            os.truncate(os.path.join(folder, "records"), 0)
            for owner, array in arrays.items():
                said = self.look_everywhere(array)
                self.assertIn("not read: its memory belongs to " + owner, said)
            self.look_everywhere(hidden)

    def test_memory_of_an_owner_that_is_known_is_read(self):
        kept = numpy.arange(4)
        for array in (
            kept[1:][1:],
            numpy.broadcast_to(kept, (2, 4))[0][2:],
            numpy.frombuffer(array_module.array("q", [2, 3])),
            numpy.frombuffer(kept.tobytes(), "i8")[2:],
            numpy.frombuffer(memoryview(bytearray(kept.tobytes()))[16:], "i8"),
            numpy.matrix(kept).view(numpy.ndarray)[0, 2:],
        ):
            self.assertNotIn("not read", self.look_everywhere(array))
            self.assertIn("[", self.text(array))

    def test_an_array_that_holds_itself_is_shown_without_end(self):
        array = numpy.empty(1, object)
        array[0] = array
        self.assertEqual(
            "<numpy.ndarray shape (1,), dtype object [<numpy.ndarray ...>]>",
            self.text(array).replace("shape (1,), dtype object ...", "..."),
        )

    def test_objects_in_arrays_are_not_disturbed(self):
        def hold(value):
            array = numpy.empty((2,), object)
            array[0] = value
            return array

        self.look_at_all(hold)
        record = numpy.zeros(1, [("a", "O")])
        record[0]["a"] = make()
        scalar, table = record[0], numpy.empty((2, 2), object)
        table[1, 1] = make()
        masked = numpy.ma.array(table, mask=False)
        FIRED.clear()
        for value in (record, scalar, table, masked, table.T, record.view(numpy.recarray)):
            self.look_everywhere(value)

    def test_a_subclass_of_the_users_gets_no_adapter(self):
        names = ("__array_finalize__", "__array_function__", "__array_ufunc__", "__getitem__", "__repr__", "tolist")
        Mine = type("Mine", (numpy.ndarray,), {**hooks(*names), **asked("shape", "dtype")})
        Whole = type("Whole", (numpy.int64,), hooks("__repr__", "__str__", "item"))

        mine = numpy.arange(3).view(Mine)
        based = numpy.asarray(mine)
        FIRED.clear()
        self.assertIn("Mine", self.look_everywhere(mine))
        self.assertIn("[0, 1, 2]", self.look_everywhere(based))
        self.look_everywhere(Whole(3))
        masked = numpy.ma.array([1, 2], mask=[0, 1])
        masked.__dict__["_mask"] = numpy.array([False, True]).view(Mine)
        FIRED.clear()
        self.look_everywhere(masked)

    def test_types_of_cells_that_the_user_made_are_not_met(self):
        Cell = type("Cell", (numpy.void,), hooks("__repr__", "__str__", "__new__"))
        array = numpy.zeros(2, numpy.dtype((Cell, [("a", "i4")])))
        named = numpy.zeros(2, numpy.dtype([("key", "i4")], metadata={"a": make()}))
        FIRED.clear()
        self.assertIn("[(0,), (0,)]", self.look_everywhere(array))
        self.look_everywhere(named)
        try:
            odd = numpy.zeros(1, [(Text("key"), "i4"), ("b", "O")])
        except TypeError:
            return
        cell = odd[0]
        FIRED.clear()
        for value in (odd, cell, odd.dtype):
            self.look_everywhere(value)

    def test_errors_that_the_program_has_asked_for_do_not_reach_it(self):
        before = numpy.seterr(all="call")
        seen = numpy.seterrcall(lambda *_: FIRED.append("errcall"))
        try:
            self.look_everywhere(numpy.array([numpy.nan, 1e308, -1e308]))
            self.look_everywhere(numpy.array([numpy.nan, 1.0], "f4"))
        finally:
            numpy.seterr(**before)
            numpy.seterrcall(seen)

    def test_a_huge_array_costs_no_more_than_a_small_one(self):
        small, huge = numpy.zeros(100), numpy.zeros(10**7)
        self.assert_bounded(small, huge)
        self.assert_bounded(small.reshape(10, 10), huge.reshape(10, 10**6))
        self.assert_bounded(small.reshape(10, 10), huge.reshape(10**6, 10))
        self.assert_bounded(small.reshape(10, 10).T, huge.reshape(10**6, 10).T)
        self.assert_bounded(numpy.zeros(100, object), numpy.zeros(10**6, object))
        self.assert_bounded(numpy.ma.array(small, mask=False), numpy.ma.array(huge, mask=False))
        self.assert_bounded(numpy.zeros((100, 100)), numpy.broadcast_to(numpy.int8(0), (2**40, 2**20)))
        wide = [(f"column{number}", "i1") for number in range(10_000)]
        self.assert_bounded(numpy.zeros(1, wide[:100]), numpy.zeros(1, wide))
        self.seen(numpy.zeros(1, "U1000000"))
        self.assertIn("…", self.text(numpy.zeros(1, "U1000000")))


if __name__ == "__main__":
    unittest.main()
