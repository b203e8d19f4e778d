"""pandas: what is shown of tables and their columns, and that none of it runs code of the user's, or of pandas'."""

import datetime
import os
import sys
import tempfile
import unittest

from tests.adapters_support import Adapters
from tests.daemon import LONG
from tests.looking_samples import Zone
from tests.looking_support import FIRED, asked, hook, hooks, make

try:
    import numpy
    import pandas
except ImportError:
    pandas = None


@unittest.skipIf(pandas is None, "pandas is not installed")
class Pandas(Adapters):
    def frame(self):
        return pandas.DataFrame(
            {
                "id": [1, 2, 3],
                "name": ["Ann", None, "Cy"],
                "when": pandas.to_datetime(["2020-01-01", "2020-01-02 03:04:05", None], format="mixed"),
                "score": [0.5, numpy.nan, 1.5],
                "sort": pandas.Categorical(["u", "v", "u"]),
                "count": pandas.array([1, None, 3], dtype="Int64"),
                "live": [True, False, True],
            }
        )

    def test_a_table_of_a_mapped_file_is_not_read_and_says_whose_memory_it_has(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "cells")
            mapped = numpy.asarray(numpy.memmap(path, "f8", "w+", shape=(1000,)))
            view = numpy.lib.stride_tricks.as_strided(mapped, (50,), (8,))
            held = pandas.DataFrame({"a": view}, copy=False), pandas.Series(numpy.from_dlpack(mapped), copy=False)
            os.truncate(path, 0)  # Reading one of the cells would end this process.
            for one in held:
                self.assertIn("float64", self.look_everywhere(one))
            self.assertRegex("\n".join(self.card(held[0])), "not read: a, whose memory belongs to a numpy.lib.*DummyArray")
            self.assertIn("not read: all, whose memory belongs to a PyCapsule", "\n".join(self.card(held[1])))

    def test_a_frame_is_shown_by_its_columns_and_first_rows(self):
        frame = self.frame()
        texts, moments = str(frame.dtypes["name"]), str(frame.dtypes["when"])
        head = (
            f"<pandas.DataFrame 3 rows × 7 columns: id int64, name {texts}, when {moments}, score float64, "
            "sort category of 2, count Int64, live bool>"
        )
        none = "nan" if texts == "str" else "None"
        self.assertEqual(head, self.text(frame))
        seen = self.seen(frame)
        lines = seen["repr"]["text"].split("\n")
        self.assertEqual(head, lines[0])
        self.assertRegex(lines[1], r"^\d+ bytes, what cells refer to left out$")
        self.assertEqual("missing cells: 1 in name, 1 in when, 1 in score, 1 in count", lines[2])
        self.assertEqual(["id", "name", "when", "score", "sort", "count", "live"], lines[3].split())
        self.assertEqual(["0", "1", "'Ann'", "2020-01-01", "0.5", "'u'", "1", "True"], lines[4].split())
        self.assertEqual(["1", "2", none, "2020-01-02", "03:04:05", "nan", "'v'", "<NA>", "False"], lines[5].split())
        self.assertEqual(({"shape": [3, 7]}, "object"), (seen["size"], seen["kind"]))
        self.assertEqual("'id': <int64 [1, 2, 3]>", seen["sample"]["items"][0])

    def test_a_series_is_shown_by_its_cells_and_labels(self):
        series = pandas.Series([1.5, numpy.nan], index=["a", "b"], name="x")
        self.assertEqual("<pandas.Series 'x', length 2, dtype float64 [1.5, nan]>", self.text(series))
        card = self.card(series)
        self.assertEqual(["16 bytes, what cells refer to left out", "missing cells: 1 in all"], card[1:3])
        self.assertEqual(["x", "'a' 1.5", "'b' nan"], [" ".join(line.split()) for line in card[3:]])
        self.assertEqual({"shape": [2]}, self.seen(series)["size"])

    def test_a_long_series_shows_each_of_its_first_values_once(self):
        seen = self.seen(pandas.Series(numpy.arange(1000, 1100) / 7, name="x"))["repr"]
        self.assertEqual((1, 0), (seen["text"].count("144.28571428571428"), seen["text"].count("145.71428571428572")))
        self.assertEqual("<pandas.Series 'x', length 100, dtype float64>", seen["text"].split("\n")[0])
        self.assertEqual((False, 24), (seen["truncated"], len(seen["text"].split("\n"))))

    def test_indexes_and_arrays_are_shown_by_their_labels(self):
        moments = pandas.DatetimeIndex(["2020-01-01"], tz=datetime.timezone.utc)
        levels = pandas.MultiIndex.from_tuples([(1, "a"), (2, numpy.nan)])
        for value, text in (
            (pandas.RangeIndex(3), "<pandas.RangeIndex length 3, int64 [0, 1, 2]>"),
            (pandas.Index([1.5]), "<pandas.Index length 1, float64 [1.5]>"),
            (moments, f"<pandas.DatetimeIndex length 1, {moments.dtype} [2020-01-01]>"),
            (levels, "<pandas.MultiIndex length 2, 2 levels [(1, 'a'), (2, nan)]>"),
            (pandas.CategoricalIndex(["a"]), "<pandas.CategoricalIndex length 1, category of 1 ['a']>"),
            (pandas.Categorical(["a", None]), "<pandas.arrays.Categorical length 2, dtype category of 1 ['a', nan]>"),
            (pandas.array([True, None]), "<pandas.arrays.BooleanArray length 2, dtype boolean [True, <NA>]>"),
            (
                pandas.array([0.5, None], dtype="Float32"),
                "<pandas.arrays.FloatingArray length 2, dtype Float32 [0.5, <NA>]>",
            ),
            (pandas.period_range("2020", periods=2, freq="M"), "<pandas.PeriodIndex length 2, period>"),
            (pandas.interval_range(0, 2), "<pandas.IntervalIndex length 2, interval>"),
            (pandas.arrays.SparseArray([0, 1]), "<pandas.arrays.SparseArray length 2, dtype Sparse>"),
            (
                pandas.array(["a", None], dtype="string[python]"),
                "<pandas.arrays.StringArray length 2, dtype string ['a', <NA>]>",
            ),
        ):
            self.assertEqual(text, self.text(value))

    def test_columns_of_pyarrow_are_read_where_pyarrow_makes_their_cells_itself(self):
        try:
            import pyarrow
        except ImportError:
            self.skipTest("pyarrow is not installed")
        texts = pandas.Series(["a", None], dtype="string[pyarrow]")
        self.assertEqual("<pandas.Series length 2, dtype string ['a', <NA>]>", self.text(texts))
        numbers = pandas.Series([1, None], dtype=pandas.ArrowDtype(pyarrow.int64()))
        self.assertEqual("<pandas.Series length 2, dtype int64[pyarrow] [1, <NA>]>", self.text(numbers))

        class Mine(pyarrow.ExtensionType):
            def __init__(self):
                super().__init__(pyarrow.int64(), "mine")

            def __arrow_ext_serialize__(self):
                return b""

            @classmethod
            def __arrow_ext_deserialize__(cls, storage, serialized):
                FIRED.append("__arrow_ext_deserialize__")
                return cls()

            __arrow_ext_scalar_class__ = hook("__arrow_ext_scalar_class__")
            __arrow_ext_class__ = hook("__arrow_ext_class__", lambda: pyarrow.ExtensionArray)
            __str__ = __repr__ = hook("__str__", lambda: "lie")

        dtype = Mine()
        chunks = pyarrow.chunked_array([pyarrow.ExtensionArray.from_storage(dtype, pyarrow.array([1, 2]))])
        array = object.__new__(pandas.arrays.ArrowExtensionArray)
        array._pa_array, array._dtype = chunks, pandas.ArrowDtype.__new__(pandas.ArrowDtype)
        array._dtype.pyarrow_dtype = dtype
        del dtype
        FIRED.clear()
        self.assertIn("length 2, dtype arrow type[pyarrow]>", self.look_everywhere(array))

    def test_single_values_are_written(self):
        for value, text in (
            (pandas.Timestamp("2020-01-02 03:04:05.000000006"), "Timestamp('2020-01-02 03:04:05.000000006')"),
            (pandas.Timestamp("2020-01-02", tz="UTC").as_unit("s"), "Timestamp('2020-01-02 00:00:00', tz=UTC)"),
            (pandas.Timedelta(-(2 * 3600 * 10**9 + 3)), "Timedelta('-0 days 02:00:00.000000003')"),
            (pandas.NaT, "NaT"),
            (pandas.NA, "<NA>"),
        ):
            self.assertEqual(text, self.text(value), value)

    def test_cells_of_any_sort_are_not_disturbed(self):
        def hold(value):
            array = numpy.empty(2, object)
            array[0] = value
            frame = pandas.DataFrame({"a": [1, 2]})
            frame["b"] = pandas.Series(array, dtype=object)
            return [frame, frame["b"]]

        self.look_at_all(hold, every=4)

    def test_labels_of_any_sort_are_not_disturbed(self):
        body = {"__hash__": hook("__hash__", lambda: 7), "__eq__": hook("__eq__", lambda: False)}
        Key = type("Key", (), {**body, **hooks("__repr__", "__str__")})
        labels = numpy.empty(2, object)
        labels[0], labels[1] = Key(), "plain\n"
        frame = pandas.DataFrame(numpy.zeros((2, 2)), columns=pandas.Index(labels), index=pandas.Index(labels))
        frame.index.name = frame.columns.name = make()
        series = pandas.Series([1, 2], index=frame.index)
        object.__setattr__(series, "_name", make())
        FIRED.clear()
        for value in (frame, series, frame.index, frame.columns):
            self.look_everywhere(value)
        self.assertIn("… float64, 'plain\\n' float64", self.text(frame))

    def test_a_zone_of_the_users_is_named_and_not_asked(self):
        moments = pandas.to_datetime(["2020-01-01"]).tz_localize(datetime.timezone.utc)
        array = moments.array.copy()
        series = pandas.Series(array)
        array._dtype._tz = Zone()
        stamp = pandas.Timestamp(datetime.datetime(2020, 1, 1, tzinfo=Zone()))
        FIRED.clear()
        self.assertIn("Zone>]", self.look_everywhere(array))
        self.look_everywhere(series)
        self.assertIn("tz=<tests.looking_samples.Zone>", self.look_everywhere(stamp))

    def test_accessors_and_subclasses_of_the_users_are_not_met(self):
        pandas.api.extensions.register_dataframe_accessor("fired")(lambda _: FIRED.append("accessor"))
        self.addCleanup(pandas.DataFrame._accessors.discard, "fired")
        self.addCleanup(delattr, pandas.DataFrame, "fired")
        body = {**asked("shape", "columns", "_constructor"), **hooks("head", "__repr__", "__str__", "__len__")}
        Mine = type("Mine", (pandas.DataFrame,), {**body, "_metadata": ["more"]})
        mine = Mine.__new__(Mine)
        mine.__dict__.update(pandas.DataFrame({"a": [1]}).__dict__)
        frame = self.frame()
        FIRED.clear()
        self.assertIn("Mine", self.look_everywhere(mine))
        self.look_everywhere(frame)

    def test_a_method_that_the_program_has_put_into_pandas_is_not_met(self):
        frame = self.frame()
        places = [
            (pandas.DataFrame, name) for name in ("shape", "columns", "dtypes", "head", "__repr__", "_mgr", "__len__")
        ]
        places += [(type(frame._mgr), name) for name in ("items", "blknos", "blklocs", "iget", "shape")]
        places += [(pandas.Categorical, "categories"), (pandas.Index, "values"), (pandas.Index, "__getitem__")]
        kept = [(cls, name, cls.__dict__.get(name)) for cls, name in places]
        for cls, name, _ in kept:
            setattr(cls, name, property(hook(name)))
        try:
            FIRED.clear()
            self.assertIn("sort category of 2", self.look_everywhere(frame))
        finally:
            for cls, name, before in kept:
                delattr(cls, name) if before is None else setattr(cls, name, before)

    def test_an_array_of_a_class_of_the_users_is_named_and_not_read(self):
        class Dtype(pandas.api.extensions.ExtensionDtype):
            name, type, na_value = "mine", object, None

            @classmethod
            def construct_array_type(cls):
                return Mine

        class Mine(pandas.api.extensions.ExtensionArray):
            dtype = Dtype()

            def __len__(self):
                FIRED.append("__len__")
                return 2

            def __getitem__(self, at):
                FIRED.append("__getitem__")
                return 1

            def copy(self):
                return self

            nbytes = property(hook("nbytes", lambda: 1))
            isna = hook("isna", lambda: numpy.zeros(2, bool))
            __repr__ = hook("__repr__", lambda: "lie")

        mine = Mine()
        frame = pandas.DataFrame({"a": [1, 2], "b": mine})
        series = pandas.Series(mine)
        FIRED.clear()
        said = self.look_everywhere(frame)
        self.assertIn("2 rows × 2 columns: a int64, b <", said)
        self.look_everywhere(series)
        self.look_everywhere(mine)

    def test_frames_that_were_put_together_in_other_ways_are_read_as_well(self):
        grown = pandas.DataFrame({"a": [1], "b": ["x"]})
        grown["c"], grown["d"] = 3, [4.5]
        del grown["b"]
        self.assertEqual("<pandas.DataFrame 1 rows × 3 columns: a int64, c int64, d float64>", self.text(grown))
        self.assertEqual(["'a': <int64 [1]>", "'c': <int64 [3]>", "'d': <float64 [4.5]>"], self.sample(grown))
        wide = pandas.DataFrame(numpy.arange(6).reshape(2, 3), columns=["x", "y", "z"])[["z", "x"]]
        self.assertEqual(["'z': <int64 [2, 5]>", "'x': <int64 [0, 3]>"], self.sample(wide))
        moments = pandas.DataFrame({"p": pandas.to_datetime(["2020-01-01"]), "q": pandas.to_datetime(["2021-01-01"])})
        self.assertIn("[2021-01-01]", self.sample(moments)[1])
        same = pandas.DataFrame([[1, 2]], columns=["a", "a"])
        self.assertEqual(["'a': <int64 [1]>", "'a': <int64 [2]>"], self.sample(same))
        self.assertEqual("<pandas.DataFrame 0 rows × 0 columns>", self.text(pandas.DataFrame()))
        self.assertEqual([], self.sample(pandas.DataFrame()))

    def test_nothing_is_counted_in_a_table_too_large_for_it(self):
        frame = pandas.DataFrame({"a": numpy.zeros(60_000)})
        self.assertEqual("missing cells: not looked for in more than 50000", self.card(frame)[2])

    def test_a_huge_table_costs_no_more_than_a_small_one(self):
        def tables(rows, columns):
            numbers = pandas.DataFrame(numpy.zeros((rows, columns)))
            return numbers, pandas.DataFrame(numpy.zeros((columns, rows))), pandas.Series(numpy.zeros(rows))

        for small, huge in zip(tables(100, 20), tables(10**5, 20)):
            self.assert_bounded(small, huge)
        self.assert_bounded(pandas.DataFrame(numpy.zeros((2, 50))), pandas.DataFrame(numpy.zeros((2, 10**5))))
        self.assert_bounded(pandas.Series(range(100), dtype="O"), pandas.Series(range(10**5), dtype="O"))
        self.assert_bounded(pandas.RangeIndex(100), pandas.RangeIndex(10**7))
        parts = [pandas.Series([number], name=str(number)) for number in range(5000 if LONG else 1000)]
        self.assert_bounded(pandas.concat(parts[:50], axis=1), pandas.concat(parts, axis=1))
        pairs = pandas.MultiIndex.from_product([range(1000), range(1000)])
        self.assert_bounded(pairs[:100], pairs)
        if "pyarrow" in sys.modules:
            texts = ["x"] * 10**6
            self.assert_bounded(
                pandas.Series(texts[:100], dtype="string[pyarrow]"), pandas.Series(texts, dtype="string[pyarrow]")
            )


if __name__ == "__main__":
    unittest.main()
