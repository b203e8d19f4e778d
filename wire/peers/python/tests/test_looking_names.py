"""Listing names, keeping handles, and reading on."""

import json
import threading
import types
import unittest

from imago import looking
from imago.handles import CAPACITY, Handles, StaleHandle


class Listing(unittest.TestCase):
    def page(self, namespace, **query):
        looked = looking.globals_page(namespace, {"limit": 100, "modules": False, **query})
        self.assertEqual("found", looked["type"])
        return looked["value"]

    def names(self, namespace, **query):
        return [one["name"] for one in self.page(namespace, **query)["globals"]]

    def test_names_are_sorted_and_typed(self):
        page = self.page({"b": 1, "a": "x", "C": None, "_d": []})
        self.assertEqual(
            {
                "globals": [
                    {"name": "C", "type_name": "NoneType"},
                    {"name": "_d", "type_name": "list"},
                    {"name": "a", "type_name": "str"},
                    {"name": "b", "type_name": "int"},
                ],
                "total": 4,
            },
            page,
        )

    def test_python_s_own_names_are_left_out(self):
        module = types.ModuleType("__main__", "doc")
        module.__dict__.update(x=1, __version__="1")
        self.assertEqual(["x"], self.names(module.__dict__))

    def test_modules_are_listed_only_when_asked_for(self):
        lazy = type("Lazy", (types.ModuleType,), {})("lazy")
        namespace = {"json": json, "lazy": lazy, "x": 1}
        self.assertEqual(["x"], self.names(namespace))
        self.assertEqual(["json", "lazy", "x"], self.names(namespace, modules=True))

    def test_a_filter_is_blind_to_case(self):
        self.assertEqual(
            ["CONFIG", "reconfigure"], self.names({"CONFIG": 1, "reconfigure": 2, "x": 3}, filter="Config")
        )

    def test_pages_follow_each_other_without_gaps(self):
        namespace = {f"n{number:03}": number for number in range(250)}
        listed, after = [], {}
        while True:
            page = self.page(namespace, **after)
            self.assertEqual(250, page["total"])
            listed += [one["name"] for one in page["globals"]]
            if "next" not in page:
                break
            after = {"after": page["next"]}
        self.assertEqual(sorted(namespace), listed)

    def test_a_last_page_that_is_full_has_no_next(self):
        self.assertNotIn("next", self.page({"a": 1, "b": 2}, limit=2))
        self.assertEqual("a", self.page({"a": 1, "b": 2}, limit=1)["next"])

    def test_keys_that_are_no_names_are_not_listed(self):
        namespace = {1: 1, None: 2, ("a",): 3, type("S", (str,), {})("s"): 4, "x\ud800": 5, "\udfff": 6, "x": 7}
        self.assertEqual(["x"], self.names(namespace))

    def test_an_empty_image_has_no_names(self):
        self.assertEqual({"globals": [], "total": 0}, self.page({}))

    def test_names_that_come_and_go_do_not_stop_a_listing(self):
        namespace = {f"n{number:05}": number for number in range(50_000)}
        stop = threading.Event()

        def churn():
            number = 0
            while not stop.is_set():
                number += 1
                namespace[f"new_{number}"] = number
                namespace.pop(f"new_{number - 50}", None)

        thread = threading.Thread(target=churn)
        thread.start()
        try:
            for _ in range(5):
                self.assertEqual(["n00000", "n00001"], self.names(namespace, limit=2))
        finally:
            stop.set()
            thread.join()


class Keeping(unittest.TestCase):
    def test_one_thing_keeps_one_handle(self):
        handles = Handles("abcd1234")
        thing = []
        self.assertEqual("@abcd.1", handles.keep_value(thing))
        self.assertEqual("@abcd.1", handles.keep_value(thing))
        self.assertEqual("@abcd.2", handles.keep_items(thing))
        self.assertEqual("@abcd.3", handles.keep_value([]))
        self.assertIs(thing, handles.find("@abcd.1").value)
        self.assertEqual(("items", thing), (handles.find("@abcd.2").kind, handles.find("@abcd.2").value))

    def test_the_least_recently_used_makes_room(self):
        handles = Handles("abcd1234")
        kept = [[number] for number in range(CAPACITY)]
        for thing in kept:
            handles.keep_value(thing)
        handles.find("@abcd.1")
        handles.keep_value(kept[1])
        handles.keep_text("one more")
        self.assertEqual(CAPACITY, len(handles))
        for number in (1, 2, CAPACITY + 1):
            handles.find(f"@abcd.{number}")
        with self.assertRaises(StaleHandle) as raised:
            handles.find("@abcd.3")
        self.assertIn("made room", raised.exception.because)

    def test_a_handle_that_was_evicted_is_not_given_to_another(self):
        handles = Handles("abcd1234")
        for number in range(CAPACITY * 2):
            handles.keep_value([number])
        self.assertEqual(f"@abcd.{CAPACITY * 2 + 1}", handles.keep_value([]))

    def test_each_way_of_being_stale_says_which(self):
        handles = Handles("abcd1234")
        for handle, because in (
            ("@ffff.1", "another life"),
            ("@abcd.7", "never"),
            ("@abcd.0", "never"),
            ("nonsense", "not a handle"),
            ("@abcd." + "9" * 100, "not a handle"),
        ):
            with self.assertRaises(StaleHandle) as raised:
                handles.find(handle)
            self.assertIn(because, raised.exception.because)

    def test_many_threads_may_keep_and_find(self):
        handles = Handles("abcd1234")
        failures = []

        def work():
            for number in range(2000):
                thing = [number]
                try:
                    if handles.find(handles.keep_value(thing)).value is not thing:
                        failures.append(number)
                except StaleHandle:
                    pass  # The other threads kept 512 things in between.

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(([], CAPACITY), (failures, len(handles)))


class Reading(unittest.TestCase):
    def setUp(self):
        self.handles = Handles("abcd1234")

    def more(self, handle, start, count):
        looked = looking.more(self.handles, {"handle": handle, "from": start, "count": count})
        json.dumps(looked, ensure_ascii=False).encode("utf-8")
        return looked.get("value", looked)

    def test_items_of_every_container_can_be_read_on(self):
        for container in (list(range(50)), tuple(range(50)), set(range(50)), dict.fromkeys(range(50)), range(50)):
            piece = self.more(self.handles.keep_items(container), 40, 5)
            self.assertEqual((5, 50, 45), (len(piece["items"]), piece["total"], piece["next"]))
            self.assertTrue(piece["items"][0].startswith("40"))
        self.assertEqual([], self.more(self.handles.keep_items([1]), 9, 5)["items"])
        self.assertIsNone(self.more(self.handles.keep_items([1]), 9, 5)["next"])

    def test_one_piece_is_bounded_whatever_is_asked_for(self):
        piece = self.more(self.handles.keep_items(["x" * 1000] * 5000), 0, 100_000)
        self.assertLess(len(json.dumps(piece)), 100_000)
        self.assertEqual(len(piece["items"]), piece["next"])
        piece = self.more(self.handles.keep_text("x" * 200_000), 0, 10**9)
        self.assertEqual((64 * 1024, 64 * 1024), (len(piece["text"]), piece["next"]))

    def test_a_string_is_read_as_the_characters_it_holds(self):
        piece = self.more(self.handles.keep_value("a\nb\ud800c"), 0, 10)
        self.assertEqual("a\nb\\ud800c", piece["text"])

    def test_a_handle_that_leads_nowhere_is_stale(self):
        self.assertEqual("stale_handle", self.more("@abcd.5", 0, 1)["type"])

    def test_an_object_is_read_as_its_static_text(self):
        piece = self.more(self.handles.keep_value(types.SimpleNamespace(a=1)), 0, 100)
        self.assertEqual("<types.SimpleNamespace a=1>", piece["text"])


if __name__ == "__main__":
    unittest.main()
