"""Mathics3 behind ``kernel_player.py``: a kernel that can be spoken to over the library of the tests.

``python kernel_player.py --install ROOT --evaluate tests.mathics_player:evaluate``, with the Python that has Mathics3.
"""

import ctypes
import os
import threading
import traceback

from mathics.core.atoms import String
from mathics.core.expression import Expression as MathicsExpression
from mathics.core.interrupt import AbortInterrupt, WLThrowInterrupt
from mathics.core.symbols import Symbol

from tests import session as _  # noqa: F401
from tests.kernel_player import Aborted, Expression, Name, Session
from tests.mathics_kernel import MathicsLink, kernel_definitions

#: Loaded with this module, and so before a server says that it listens: it takes seconds, and no client waits for it.
DEFINITIONS = kernel_definitions()


def evaluate(function: str, text: str, client: Session):
    """What a call comes to; see ``scripted`` of ``kernel_player.py``. The session is that of the client's kernel."""
    kernel = client.kept.get("kernel")
    if kernel is None:
        kernel = client.kept["kernel"] = Played(client)
    return kernel.call(function, text)


#: After so long, an abort that has not ended an evaluation comes again. What catches one goes on for a shorter time.
AGAIN_SECONDS = 2


class Played(MathicsLink):
    """A session of Mathics3, on the thread that it is made on. What it says goes to the client, packet by packet."""

    def __init__(self, client: Session):
        super().__init__(DEFINITIONS)
        self._client = client
        self._thread = threading.get_ident()
        self._evaluating = self._asking = False
        self._again = None
        self._calls = 0
        self._changing = threading.Lock()
        client.when_aborted = self._stop

    def printed(self, text):
        self._client.send("TextPacket", text)

    def message(self, name, text):
        symbol, _, tag = name.partition("::")
        self._client.send("MessagePacket", Name(symbol), tag)
        self._client.send("TextPacket", f"{name}: {text}\n")

    def ask(self, prompt):
        with self._changing:
            # An abort ends the question, and comes once.
            self._asking = True
            self._interrupt(None)
        try:
            answer = self._client.ask("InputStringPacket", prompt)
        except Aborted:
            raise AbortInterrupt from None
        finally:
            with self._changing:
                self._asking = False
        # An abort that came with the answer counts: from here on it would interrupt.
        if self._client.aborted.is_set():
            raise AbortInterrupt
        return str(answer.arguments[0])

    def call(self, function, text):
        name = function if "`" in function else "System`" + function
        self.session.begin()
        try:
            with self._changing:
                self._evaluating = True
                self._calls += 1
            value = MathicsExpression(Symbol(name), String(text)).evaluate(self.session)
            self._rest()
        except (AbortInterrupt, WLThrowInterrupt):
            self._rest()
            return Name("$Aborted")
        except SystemExit:
            # It is Quit[]; the threads of this process would go on else.
            os._exit(0)
        except Exception:
            # What Mathics cannot do ends no kernel.
            self._rest()
            traceback.print_exc()
            return Name("$Failed")
        finally:
            self.session.end()
        if isinstance(value, String):
            return value.value
        return Name(value.get_name().removeprefix("System`")) if isinstance(value, Symbol) else Expression("List")

    def _stop(self, call=None):
        with self._changing:
            if not self._evaluating or call not in (None, self._calls):
                return
            if not self._asking:
                self._interrupt(AbortInterrupt)
            if self._again is not None:
                self._again.cancel()
            # Mathics passes over an error here and there, and so over this one.
            self._again = threading.Timer(AGAIN_SECONDS, self._stop, [self._calls])
            self._again.daemon = True
            self._again.start()

    def _interrupt(self, error):
        raised = None if error is None else ctypes.py_object(error)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self._thread), raised)

    def _rest(self):
        with self._changing:
            self._evaluating = False
            if self._again is not None:
                self._again.cancel()
