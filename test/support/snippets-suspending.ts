/** The same few programs in each language that can suspend an error, for `test/wire/kernel-suspensions.ts`. */
export interface SuspendingSnippets {
  readonly language: string
  /** What becomes of the stack, unless it is asked to be held. */
  readonly how: 'held' | 'post_mortem'
  /** Defines what the others call. */
  readonly world: string
  /** A value, whatever waits. */
  readonly expression: { readonly source: string; readonly repr: string }
  /** Raises two calls deep, in `inner`, which `outer` has called with `argument`, and which holds a long `list`. */
  readonly fails: {
    readonly source: string
    readonly type: string
    readonly message: string
    readonly inner: string
    readonly outer: string
    readonly argument: { readonly name: string; readonly repr: string }
    readonly list: string
  }
  /** Raises as many calls deep, all of one function. */
  deep(depth: number): { readonly source: string; readonly function: string }
  /** In the frame of `inner`: reads its argument and adds one, sets it, and raises. Left out: frames are names alone. */
  readonly frame?: {
    readonly reads: string
    readonly repr: string
    readonly sets: string
    readonly reprAfter: string
    readonly fails: string
  }
  /** Prints `before` and raises until it is mended; by this restart it then `prints`, and is `repr`. */
  readonly resumes: Resumes & { readonly repr: string; readonly prints: string }
  /** The same, and prints `looping` and does not end. */
  readonly loops: Resumes
  /** A restart that takes a value. */
  readonly value?: {
    readonly source: string
    readonly restart: string
    readonly value: string
    readonly repr: string
    readonly unreadable: string
    /** Code for a value that raises. */
    readonly fails: string
  }
  /** What `fails` comes to where the frame of `inner` returns `value`, or is called again after `mend`. */
  readonly returns?: { readonly value: string; readonly repr: string }
  /** Where the stack can be held on request: prints `unwound` after it has raised, once `goesOn` lets it. */
  readonly holds?: { readonly source: string; readonly goesOn: string }
  readonly again?: { readonly mend: string; readonly repr: string; readonly unmend: string }
}

export interface Resumes {
  readonly source: string
  readonly unmend: string
  readonly mend: string
  readonly restart: string
}

const MENDING = { unmend: 'suite_mended = False', mend: 'suite_mended = True', restart: 'retry' }

/** In a Python that is only attached to. */
export const SUSPENDING_PYTHON: SuspendingSnippets = {
  language: 'python',
  how: 'post_mortem',
  world: `
import time

def suite_inner(count):
    items = list(range(1000))
    raise ValueError('no stock for %d' % count)

def suite_outer(count):
    return [suite_inner(count + 1)]

def suite_deep(depth):
    if depth == 0:
        raise ValueError('deep')
    return suite_deep(depth - 1)

def suite_resumes():
    print('before')
    if not suite_mended:
        raise ValueError('not yet')
    print('after')
    return 42

def suite_loops():
    if not suite_mended:
        raise ValueError('not yet')
    print('looping')
    while True:
        time.sleep(0.01)
`,
  expression: { source: '1 + 2', repr: '3' },
  fails: {
    source: 'suite_outer(40)',
    type: 'ValueError',
    message: 'no stock for 41',
    inner: 'suite_inner',
    outer: 'suite_outer',
    argument: { name: 'count', repr: '41' },
    list: 'items',
  },
  deep: depth => ({ source: `suite_deep(${depth})`, function: 'suite_deep' }),
  frame: {
    reads: 'count + 1',
    repr: '42',
    sets: 'count = 10',
    reprAfter: '11',
    fails: 'suite_outer(count)',
  },
  resumes: { ...MENDING, source: 'suite_resumes()', prints: 'before\nafter\n', repr: '42' },
  loops: { ...MENDING, source: 'suite_loops()' },
}

export const HOLDING_PYTHON: SuspendingSnippets = {
  ...SUSPENDING_PYTHON,
  holds: { source: "try:\n    suite_outer(40)\nfinally:\n    print('unwound')", goesOn: 'continue' },
}

const NOTHING = { unmend: '(values)', mend: '(values)', restart: 'suite-go-on' }

const INNER = `(defun suite-inner (count)
  (declare (optimize (debug 2)))
  (let ((items (loop for i below 1000 collect i)))
    (cerror "Go on." "no stock for ~D" count)
    (list (length items) count)))`

export const SUSPENDING_LISP: SuspendingSnippets = {
  language: 'lisp',
  how: 'held',
  world: `
${INNER}

(defun suite-outer (count)
  (declare (optimize (debug 2)))
  (list (suite-inner (1+ count))))

(defun suite-deep (depth)
  (if (zerop depth) (error "deep") (list (suite-deep (1- depth)))))

(defun suite-resumes ()
  (write-line "before")
  (restart-case (error "not yet")
    (suite-go-on ()
      (write-line "after")
      42)))

(defun suite-loops ()
  (restart-case (error "not yet")
    (suite-go-on ()
      (write-line "looping")
      (loop (sleep 0.01)))))
`,
  expression: { source: '(+ 1 2)', repr: '3' },
  fails: {
    source: '(suite-outer 40)',
    type: 'simple-error',
    message: 'no stock for 41',
    inner: 'suite-inner',
    outer: 'suite-outer',
    argument: { name: 'count', repr: '41' },
    list: 'items',
  },
  deep: depth => ({ source: `(suite-deep ${depth})`, function: 'suite-deep' }),
  frame: {
    reads: '(1+ count)',
    repr: '42',
    sets: '(setf count 10)',
    reprAfter: '11',
    fails: '(suite-outer count)',
  },
  resumes: { ...NOTHING, source: '(suite-resumes)', prints: 'after\n', repr: '42' },
  loops: { ...NOTHING, source: '(suite-loops)' },
  value: {
    source: '(restart-case (error "no value") (suite-use (value) :interactive (lambda () (list 1)) value))',
    restart: 'suite-use',
    value: '(+ 40 2)',
    repr: '42',
    unreadable: '(+ 40',
    fails: '(error "no idea")',
  },
  returns: { value: '(+ 3 4)', repr: '(7)' },
  again: { mend: '(defun suite-inner (count) (list :new count))', repr: '((:new 41))', unmend: INNER },
}

/** The same in ECL, which tells the names of frames and no more. */
export const SUSPENDING_ECL: SuspendingSnippets = (({ frame: _f, returns: _r, again: _a, ...rest }) => rest)(
  SUSPENDING_LISP,
)
