/** A program whose calls are traced, in one language. */
export interface TracingSnippets {
  /** Defines all of it, with printers that note that they ran; and `before`, what its functions are untraced. */
  readonly world: string
  /** Multiplies two numbers, the second of which is 2 where it is left out, and returns a list of the product. */
  readonly area: {
    readonly name: string
    readonly told: string
    readonly parameters: readonly [string, string]
    readonly returned: string
    call(width: number): string
    /** Calls it from a function, whose name is `caller`. */
    readonly within: string
    readonly caller: string
  }
  /** Fails with `no luck`, and is called by what handles that. */
  readonly fails: { readonly name: string; readonly type: string; readonly call: string }
  /** Is left by no error. */
  readonly leaves: { readonly name: string; readonly call: string }
  /** Called all the while, with a whole number, by threads whose names begin with `heart`. */
  readonly beat: { readonly name: string; start(threads: number): string; readonly stop: string }
  /** Takes an object whose printers note that they ran, and returns it. */
  readonly trapped: { readonly name: string; readonly call: string; readonly type: string }
  /** Calls `area` 2,000 times in each of four threads, and waits for them; the value is how many returned. */
  readonly crowd: { readonly source: string; readonly value: string }
  /** How many times a printer ran. */
  readonly fired: string
  /** Whether the functions are what they were before any was traced, and nothing else of a tracepoint is there. */
  readonly untouched: { readonly source: string; readonly value: string }
  /** What cannot be traced. */
  readonly refused: readonly string[]
  readonly missing: string
}

export const TRACING_PYTHON: TracingSnippets = {
  world: `
import sys, threading, time
fired = []
class Trap:
    def __init__(self):
        self.kept = 7
    def _fire(self, *_):
        fired.append(1)
        raise SystemExit('a printer ran')
    __repr__ = __str__ = __format__ = __len__ = __eq__ = __hash__ = __bool__ = __iter__ = __getattr__ = _fire
def area(width, height=2):
    return [width * height]
def asks_for_area():
    made = area(3)
    return made
def fails(what):
    raise ValueError('no ' + what)
def handles():
    try:
        fails('luck')
    except ValueError:
        return 'handled'
def numbers(count):
    yield from range(count)
def beat(number):
    return number
def trapped(trap):
    return trap
stopped = threading.Event()
def beating():
    number = 0
    while not stopped.is_set():
        number += 1
        beat(number)
        time.sleep(0.0005)
def start_beating(count):
    for at in range(count):
        threading.Thread(target=beating, name='heart-%d' % at, daemon=True).start()
def crowd():
    done = []
    def work():
        done.extend(area(number) for number in range(2000))
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(done)
before = {one: one.__code__ for one in (area, fails, numbers, beat, trapped)}
def untouched():
    tools = getattr(sys, 'monitoring', None)
    return all(one.__code__ is code for one, code in before.items()) and (
        tools is None or all(tools.get_tool(tool) is None for tool in range(6)))
`,
  area: {
    name: 'area',
    told: '__main__.area',
    parameters: ['width', 'height'],
    returned: '[6]',
    call: width => `area(${width})`,
    within: 'asks_for_area()',
    caller: 'asks_for_area',
  },
  fails: { name: 'fails', type: 'ValueError', call: 'handles()' },
  leaves: { name: 'numbers', call: 'one = numbers(2); next(one); one.close()' },
  beat: { name: 'beat', start: threads => `start_beating(${threads})`, stop: 'stopped.set()' },
  trapped: { name: 'trapped', call: 'trap = Trap(); trapped(trap) is trap', type: 'Trap' },
  crowd: { source: 'crowd()', value: '8000' },
  fired: 'len(fired)',
  untouched: { source: 'untouched()', value: 'True' },
  refused: ['len', 'Trap', 'str.join', 'stopped'],
  missing: 'ares',
}

export const TRACING_LISP: TracingSnippets = {
  world: `
(defpackage :yard (:use :cl))
(in-package :yard)
(defvar *fired* 0)
(defclass trap () ((kept :initform 7)))
(defmethod print-object ((trap trap) stream) (incf *fired*) (throw 'a-printer-ran stream))
(defun area (width &optional (height 2)) (list (* width height)))
(declaim (notinline area))
(defun asks-for-area () (let ((made (area 3))) (nreverse made)))
(defun fails (what) (error "no ~A" what))
(defun handles () (handler-case (fails "luck") (error () :handled)))
(defun jumps () (throw 'out :thrown))
(defun beat (number) number)
(defun trapped (trap) trap)
(defvar *stopped* nil)
(defun start-beating (count)
  (dotimes (at count)
    (sb-thread:make-thread
     (lambda () (loop for number from 1 until *stopped* do (beat number) (sleep 0.0005)))
     :name (format nil "heart-~D" at))))
(defun crowd ()
  (reduce (function +)
          (mapcar (function sb-thread:join-thread)
                  (loop repeat 4
                        collect (sb-thread:make-thread
                                 (lambda () (loop for number below 2000 count (area number))))))))
(defun functions ()
  (mapcar (lambda (name) (sb-impl::fdefn-fun (sb-int:find-fdefn name)))
          '(area fails jumps beat trapped)))
(defvar *before* (functions))
(defun untouched ()
  (and (equal (functions) *before*)
       (notany (lambda (thread) (search "tracepoint" (sb-thread:thread-name thread)))
               (sb-thread:list-all-threads))))
(in-package :cl-user)
`,
  area: {
    name: 'yard::area',
    told: 'yard::area',
    parameters: ['width', 'height'],
    returned: '(6)',
    call: width => `(yard::area ${width} 2)`,
    within: '(yard::asks-for-area)',
    caller: 'yard::asks-for-area',
  },
  fails: { name: 'yard::fails', type: 'simple-error', call: '(yard::handles)' },
  leaves: { name: 'yard::jumps', call: "(catch 'yard::out (yard::jumps))" },
  beat: {
    name: 'yard::beat',
    start: threads => `(yard::start-beating ${threads})`,
    stop: '(setf yard::*stopped* t)',
  },
  trapped: {
    name: 'yard::trapped',
    call: "(defvar yard::*trap* (make-instance 'yard::trap)) (eq (yard::trapped yard::*trap*) yard::*trap*)",
    type: 'trap',
  },
  crowd: { source: '(yard::crowd)', value: '8000' },
  fired: 'yard::*fired*',
  untouched: { source: '(yard::untouched)', value: 't' },
  refused: ['cl:car', 'cl:if', 'cl:when', 'cl:print-object', 'swank:create-server'],
  missing: 'yard::ares',
}
