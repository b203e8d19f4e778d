"""How values of well-known libraries are read: by exact type, from what is loaded, and without running user code.

A library is never imported for this: its classes are looked for in `sys.modules`, and a value gets an adapter only if
its real type *is* the class that is found there. A subclass, a class of the same name and a value of a library that
nobody loaded are shown like any other object, by their type and what they store.

An adapter reads stored fields, and the getters and methods that a library has compiled in. `docs/python.md` lists
those methods: they are the only library code that a look runs. What an adapter cannot make sense of is shown as if
there were no adapter.
"""
