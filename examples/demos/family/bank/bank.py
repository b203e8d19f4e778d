"""Makes a report of a ledger, and locks both in either order."""

import threading

report = threading.Lock()
ledger = threading.RLock()
both = threading.Barrier(2)


def write_report():
    with report:
        both.wait()
        with ledger:
            pass


def close_day():
    with ledger:
        both.wait()
        with report:
            pass


def app(environ, start_response):
    if environ["PATH_INFO"] == "/report":
        for work in (write_report, close_day):
            threading.Thread(target=work, name=work.__name__, daemon=True).start()
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"It is being made."]
