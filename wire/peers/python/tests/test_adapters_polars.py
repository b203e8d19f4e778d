"""polars: what is shown of tables and columns; what is lazy is neither planned nor printed, and no user code runs."""

import datetime
import unittest

from tests.adapters_support import Adapters
from tests.looking_support import FIRED, asked, hook, hooks, make

try:
    import polars
except ImportError:
    polars = None


@unittest.skipIf(polars is None, "polars is not installed")
class Polars(Adapters):
    def test_a_frame_is_shown_by_its_columns_and_first_rows(self):
        frame = polars.DataFrame({"id": [1, None], "name": ["Ann", "Bo"], "at": [datetime.date(2020, 1, 1)] * 2})
        head = "<polars.DataFrame 2 rows × 3 columns: id i64, name str, at date>"
        self.assertEqual(head, self.text(frame))
        seen = self.seen(frame)
        self.assertEqual(({"shape": [2, 3]}, "object"), (seen["size"], seen["kind"]))
        self.assertEqual(["'id': <i64 [1, null]>", '\'name\': <str ["Ann", "Bo"]>'], seen["sample"]["items"][:2])
        lines = self.card(frame)
        self.assertEqual([head, "null cells: 1 in id"], [lines[0], lines[2]])
        self.assertEqual([["id", "name", "at"], ["1", '"Ann"', "2020-01-01"]], [line.split() for line in lines[3:5]])
        self.assertEqual("<polars.DataFrame 0 rows × 0 columns>", self.text(polars.DataFrame()))

    def test_a_series_is_shown_by_its_cells(self):
        series = polars.Series("x", [1.5, None])
        self.assertEqual("<polars.Series 'x', length 2, dtype f64 [1.5, null]>", self.text(series))
        self.assertEqual("null cells: 1 in x", self.card(series)[2])
        for cells, dtype, text in (
            ([[1], [2, 3]], None, "dtype list[i64] [[1], [2, 3]]"),
            (["a"], polars.Categorical, 'dtype cat ["a"]'),
            ([datetime.datetime(2020, 1, 1)], None, "dtype datetime[μs] [2020-01-01 00:00:00]"),
            ([True], None, "dtype bool [True]"),
            ([b"a"], None, 'dtype binary [b"a"]'),
            ([{"a": 1}], None, "dtype struct[1] […]"),
        ):
            self.assertIn(text, self.text(polars.Series("x", cells, dtype=dtype)))

    def test_what_is_lazy_stays_so(self):
        def scan(_batch):
            FIRED.append("run")
            return _batch

        lazy = polars.DataFrame({"a": [1]}).lazy().map_batches(scan, schema={"a": polars.Int64})
        self.assertEqual("<polars.LazyFrame, a query that has not been planned or run>", self.text(lazy))
        self.look_everywhere(lazy)
        expression = polars.col("a").map_elements(hook("mapped"), return_dtype=polars.Int64) + polars.lit(
            make(), allow_object=True
        )
        FIRED.clear()
        self.assertIn("<polars.Expr, not printed>", self.look_everywhere(expression))

    def test_cells_of_any_sort_are_not_disturbed(self):
        made = type(polars.Series()._s)

        def hold(value):
            # The constructor of polars would ask the value what it is.
            series = polars.Series._from_pyseries(made.new_object("x", [value, None], False))
            return [series, series.to_frame()]

        self.look_at_all(hold, "object", every=4)

    def test_a_type_that_the_program_has_registered_is_not_made(self):
        if not hasattr(polars, "register_extension_type"):
            self.skipTest("this polars has none")

        class Mine(polars.BaseExtension):
            def __init__(self):
                super().__init__("imago.mine", polars.Int64)

            @classmethod
            def ext_from_params(cls, *_):
                FIRED.append("ext_from_params")
                return cls()

        polars.register_extension_type("imago.mine", Mine)
        try:
            series = polars.Series("x", [1, 2]).ext.to(Mine())
            frame = polars.DataFrame([series])
            nested = frame.select(polars.concat_list("x"))
            FIRED.clear()
            for value in (series, frame, nested):
                self.assertIn("ext[imago.mine]", self.look_everywhere(value))
        finally:
            polars.unregister_extension_type("imago.mine")

    def test_accessors_subclasses_and_changed_methods_are_not_met(self):
        Mine = type("Mine", (polars.DataFrame,), {**asked("shape"), **hooks("__repr__", "__str__", "__len__")})
        mine, frame = Mine({"a": [1]}), polars.DataFrame({"a": [1]})
        names = [
            name
            for name in ("shape", "columns", "height", "__repr__", "_repr_html_")
            if name in polars.DataFrame.__dict__
        ]
        kept = [(name, polars.DataFrame.__dict__[name]) for name in names]
        inner = type(frame._df)
        for name in names:
            setattr(polars.DataFrame, name, property(hook(name)))
        try:
            FIRED.clear()
            self.assertIn("Mine", self.look_everywhere(mine))
            self.assertIn("1 rows × 1 columns", self.look_everywhere(frame))
            for name in ("shape", "to_series", "dtype_strings"):
                before = inner.__dict__[name]
                setattr(inner, name, hook(name))
                try:
                    self.look_everywhere(frame)
                finally:
                    setattr(inner, name, before)
        finally:
            for name, before in kept:
                setattr(polars.DataFrame, name, before)
        self.assertEqual("<polars.DataFrame 1 rows × 1 columns: a i64>", self.text(frame))

    def test_a_huge_table_costs_no_more_than_a_small_one(self):
        small = polars.DataFrame({f"column{number}": range(100) for number in range(20)})
        self.assert_bounded(small, polars.DataFrame({f"column{number}": range(10**5) for number in range(20)}))
        self.assert_bounded(small, polars.DataFrame({f"column{number}": [1] for number in range(10**4)}))
        self.assert_bounded(polars.Series(range(100)), polars.Series("x", range(10**7)))
        self.seen(polars.Series("x", ["a" * 10**7]))


if __name__ == "__main__":
    unittest.main()
