"""The two means of raising an exception in another thread: a signal, and what CPython calls an asynchronous exception."""

import signal


def landing(landed):
    """A ``KeyboardInterrupt`` that tells when it is raised: an asynchronous one is set long before, in a wait."""

    class Landing(KeyboardInterrupt):
        def __init__(self, *args):
            super().__init__(*args)
            landed()

    Landing.__name__ = Landing.__qualname__ = 'KeyboardInterrupt'
    Landing.__module__ = 'builtins'
    return Landing


def signal_thread(ident):
    """Sends SIGINT to a thread of this process: the main one, where threads cannot be told apart."""
    if hasattr(signal, 'pthread_kill'):
        signal.pthread_kill(ident, signal.SIGINT)
    else:
        import _thread

        _thread.interrupt_main()


def thrower():
    """The function that sets an exception in another thread. It is loaded at its first use, and not under a lock."""
    import ctypes

    def throw(ident, kind):
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(ident), ctypes.py_object(kind))

    return throw
