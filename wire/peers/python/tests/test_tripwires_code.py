"""Functions, frames and exceptions whose code objects, locals and wrappers are not what they should be."""

import functools
import linecache
import os
import sys
import threading
import types
import typing
import unittest

from tests.daemon import once
from tests.looking_support import FIRED, asked, make
from tests.looking_samples import Row, Text, key_like, recoded, table
from tests.tripwires_support import TripwireCase


def plain(a, b=1, *c, d=2, **e):
    import os

    x = key.total  # noqa: F821

    def inner():
        return x, a, os, "text"

    return inner


class Code(TripwireCase):
    def test_code_objects_of_odd_parts_are_read_as_what_they_are(self):
        constants, names = plain.__code__.co_consts, plain.__code__.co_names
        odd = {
            "named_file": {"co_filename": Text("/there/is/none.py")},
            "frozen_file": {"co_filename": Text("<frozen os>")},
            "named": {"co_name": Text("plain")},
            "constants": {"co_consts": (*constants, make(), key_like("a"))},
            "all_constants": {"co_consts": tuple(make() for _ in constants)},
            "row_of_constants": {"co_consts": Row(constants)},
            "row_of_names": {"co_names": Row(names)},
            "line": {"co_firstlineno": 2**31 - 1},
        }
        if sys.version_info >= (3, 11):
            odd["qualified"] = {"co_qualname": Text("plain")}
        made = {name: recoded(plain, **changes) for name, changes in odd.items()}
        self.namespace.update(made, holder=type("Holder", (), dict(made, __static_attributes__=Row(("a",)))), key=1)
        FIRED.clear()
        self.look_everywhere([*made, "holder", "holder.named_file", "holder.named"])
        for name in ("named_file", "row_of_names", "holder", "key"):
            self.look("references", name=name, limit=10)

    @once
    def test_what_a_code_object_says_is_its_file_is_only_opened_where_it_is_one(self):
        folder = self.folder()
        os.mkfifo(folder + "/pipe.py")
        for number, file in enumerate(
            (folder + "/pipe.py", folder, "/dev/zero", "/proc/self/mem", "a\0b", "/\udc80\n", "/\ud800", "x" * 10**6)
        ):
            self.namespace["f"] = recoded(plain, co_filename=file)
            self.look_at("f")
            module = types.ModuleType(f"module_{number}")
            module.__dict__.update(__file__=file, f=self.namespace["f"], value=1)
            self.namespace["module"] = module
            for name in ("module", "module.f", "module.value"):
                self.look_at(name)

    @once
    def test_texts_of_the_line_cache_are_read_without_trusting_them(self):
        entries = {
            "trap1.py": (1, None, [Text("x")] * 3, "trap1.py"),
            "trap2.py": (make(), make(), ["x\n"] * 3, make()),
            "trap3.py": Row((1, None, ["x"], "f")),
            "trap4.py": (1, None, Row(("x",)), "f"),
            "<ipython-input-1>": (1, None, [Text("x")], "x"),
        }
        linecache.cache.update(entries)
        hostile = key_like("trap1.py")
        linecache.cache[hostile] = (1, None, ["a"], "x")
        self.addCleanup(linecache.clearcache)
        self.namespace.update({f"f{at}": recoded(plain, co_filename=f"trap{at}.py") for at in range(1, 5)}, x=1)
        FIRED.clear()
        before = list(linecache.cache)
        self.look_everywhere()
        self.assertTrue(all(one is other for one, other in zip(before, list(linecache.cache))))

    @once
    def test_wrappers_around_wrappers_end(self):
        circle, one, other = (recoded(plain) for _ in range(3))
        circle.__wrapped__, one.__wrapped__, other.__wrapped__ = circle, other, one
        chain, applied, bound = plain, functools.partial(plain), types.MethodType(plain, 1)
        for _ in range(3000):
            outer = recoded(plain)
            outer.__wrapped__, chain = chain, outer
            again = functools.partial(plain)
            again.__setstate__((applied, (), {}, None))
            applied, bound = again, types.MethodType(bound, 1)
        self.namespace.update(circle=circle, one=one, chain=chain, applied=applied, bound=bound)
        self.look_everywhere()

    def test_what_functions_store_besides_is_not_looked_up(self):
        kept = functools.wraps(plain)(lambda *a, **k: plain(*a, **k))
        for name in ("__annotate__", "registry", "dispatch", "__wrapped__", "__signature__", "__text_signature__"):
            kept.__dict__[key_like(name)] = make()
        applied = functools.partial(plain)
        applied.__setstate__((plain, (make(),), {"a": make()}, {"__wrapped__": make(), "__doc__": make()}))
        several = type("Several", (), {"p": property(make(), make(), None, Text("d")), "c": classmethod(make())})
        self.namespace.update(kept=kept, applied=applied, several=several)
        FIRED.clear()
        self.look_everywhere([*self.namespace, "several.p", "several.c"])

    @once
    def test_annotations_within_annotations_take_no_time_to_speak_of(self):
        nested, listed = int, int
        for _ in range(6):
            nested, listed = typing.Tuple[(nested,) * 16], tuple[(listed,) * 16]
        many = typing.Union[tuple(type(f"U{at}", (), {}) for at in range(500))]
        pretends = type("Pretends", (), {"__module__": "typing"})()
        pretends.__dict__.update(_name="Z", __args__=(pretends,) * 16, __origin__=make())
        for at, note in enumerate((nested, listed, many, pretends, Row((int,)), list[make()])):
            function = recoded(plain)
            function.__annotations__ = table(a=note, **{"return": note})
            self.namespace[f"f{at}"] = function
            self.namespace[f"c{at}"] = type("Annotated", (), {"__annotations__": table(a=note)})
        FIRED.clear()
        self.look_everywhere()

    def test_an_exception_is_told_by_what_it_stores(self):
        def raising():
            key = make()
            raise Odd(key, Text("x"))

        Odd = type("Odd", (Exception,), asked("args", "__cause__", "__context__", "__traceback__", "__notes__"))
        stored, other = None, Odd(1)
        try:
            recoded(raising, co_filename=Text("/r.py"), co_name=Text("r"))()
        except Odd as error:
            stored = error
        fields = BaseException.__dict__
        fields["__cause__"].__set__(stored, other)
        fields["__cause__"].__set__(other, stored)
        stored.__dict__["__notes__"] = [Text("note"), "told", make()]
        self.namespace.update(stored=stored, error=OSError(make(), Text("x"), make()), syntax=SyntaxError(Text("m")))
        for name in ("last_value", "last_exc"):
            self.addCleanup(setattr, sys, name, None)
            setattr(sys, name, stored)
        FIRED.clear()
        self.look_everywhere()
        self.assertEqual(["told"], self.look("last_error")["value"]["error"]["notes"])

    def test_locals_of_a_running_function_may_have_any_name(self):
        ready, done = threading.Event(), threading.Event()

        def waits():
            self, found, odd = make(), make(), sys._getframe().f_locals
            if sys.version_info >= (3, 13):
                for name in (Text("extra"), key_like("found")):
                    try:
                        odd[name] = 1
                    except (TypeError, KeyError, ValueError):
                        pass
            ready.set()
            done.wait()
            return self, found

        code = waits.__code__
        odd = code.replace(co_filename=Text("/w.py"), co_consts=(*code.co_consts, make()))
        thread = threading.Thread(target=types.FunctionType(odd, globals(), "w", None, waits.__closure__))
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(done.set)
        ready.wait(5)
        FIRED.clear()
        self.look_around()


if __name__ == "__main__":
    unittest.main()
