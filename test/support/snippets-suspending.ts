/** The same few programs in each language that can suspend an error, for `test/wire/kernel-suspensions.ts`. */
export interface SuspendingSnippets {
  readonly language: string
  /** What becomes of the stack, unless it is asked to be held. */
  readonly how: 'held' | 'post_mortem'
  /** Defines what the others call. */
  readonly world: string
  /** A value, whatever waits. */
  readonly expression: { readonly source: string; readonly repr: string }
  /** Raises two calls deep, in `inner`, which `outer` has called with `argument`. */
  readonly fails: {
    readonly source: string
    readonly type: string
    readonly message: string
    readonly inner: string
    readonly outer: string
    readonly argument: { readonly name: string; readonly repr: string }
  }
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
  /** Where the stack can be held on request: prints `unwound` after it has raised, once `goesOn` lets it. */
  readonly holds?: { readonly source: string; readonly goesOn: string }
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
    raise ValueError('no stock for %d' % count)

def suite_outer(count):
    return [suite_inner(count + 1)]

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
  },
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

export const SUSPENDING_LISP: SuspendingSnippets = {
  language: 'lisp',
  how: 'held',
  world: `
(defun suite-inner (count)
  (declare (optimize (debug 2)))
  (cerror "Go on." "no stock for ~D" count)
  (list count))

(defun suite-outer (count)
  (declare (optimize (debug 2)))
  (list (suite-inner (1+ count))))

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
  },
  frame: {
    reads: '(1+ count)',
    repr: '42',
    sets: '(setf count 10)',
    reprAfter: '11',
    fails: '(suite-outer count)',
  },
  resumes: { ...NOTHING, source: '(suite-resumes)', prints: 'after\n', repr: '42' },
  loops: { ...NOTHING, source: '(suite-loops)' },
}

/** The same in ECL, which tells the names of frames and no more. */
export const SUSPENDING_ECL: SuspendingSnippets = (({ frame: _, ...rest }) => rest)(SUSPENDING_LISP)
