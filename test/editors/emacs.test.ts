import { spawnSync } from 'node:child_process'
import { mkdtempSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  at,
  EMACS_PLUGIN,
  type EmacsPlugin,
  type EmacsScene,
  ORDERS,
  openEmacsScene,
  SITS,
} from '../support/emacs-plugin.ts'
import { assert, suite } from '../support/harness.ts'
import { startProgram } from '../support/program.ts'
import { MAIN, until } from '../support/rig.ts'
import { emacsPaths } from '../support/runtimes.ts'
import { startSwank } from '../support/swank.ts'
import { openWatch } from '../support/watching.ts'

/** The package in a real Emacs, with a real daemon. */
const test = suite('Emacs plugin', { limitMs: 120_000 })

const TAX =
  'RATE = 2\n\n\ndef total(order):\n    return len(order) * RATE\n\n\nNONE = total([])\n\n\ndef wait(given):\n    import threading\n    threading.Event().wait()\n'

const SOURCE = `import sys
sys.path.insert(0, '.')
import tax
LISP = '#("a" 0 1 (display "b")) (kill-emacs) \\x1b[31m'
ORDER = {'id': 8, 'who': {'name': 'Ada'}}
LONG = [str(n) * 40 for n in range(9)]
def fail(key):
    return ORDER[key]`

let scene: EmacsScene
let emacs: EmacsPlugin

test.before(async () => {
  scene = await openEmacsScene({
    files: { 'tax.py': TAX, 'form.lisp': '(print 7)\n', 'pyproject.toml': '' },
    source: SOURCE,
  })
  emacs = scene.emacs
})
test.after(() => scene?.close())

test('a hunk is taken and one refused with a reason, and the file is read again', async () => {
  await emacs.signed(0)
  const answer = scene.propose({ ...at(3, 'line3 = 33\n'), why: 'odd' }, at(30, ''))
  await emacs.signed(1)
  assert.match(await emacs.eval('(buffer-name)'), /orders.py/)
  await emacs.opens()
  await emacs.heads(/^y take · r refuse · e edit · u undo/)
  await emacs.shows('━ hunk 1 of 2 · orders.py:4: odd · undecided')
  await emacs.shows('-line3 = 3\n+line3 = 33')
  emacs.type('ny')
  await emacs.shows('━ hunk 2 of 2 · orders.py:31 · undecided')
  await emacs.shows(': odd · ✓ take')
  emacs.type('r')
  await emacs.replies('keep it\r')
  await emacs.shows('What will be applied: 1 of 2')
  await emacs.heads(/^y sends what is shown below · u goes back/)
  emacs.type('u')
  await emacs.shows(': odd · ✓ take')
  await emacs.shows('hunk 2 of 2 · orders.py:31 · ✗ refuse: keep it')
  emacs.type('u')
  await emacs.shows('hunk 2 of 2 · orders.py:31 · undecided')
  emacs.type('r')
  await emacs.replies('keep it\r')
  await emacs.shows('What will be applied: 1 of 2')
  emacs.type('q')
  await emacs.until('(equal (buffer-name) "orders.py")')
  emacs.command('imago-plans')
  await emacs.shows('hunk 2 of 2 · orders.py:31 · ✗ refuse: keep it')
  emacs.type('y')
  assert.match(JSON.stringify(await answer), /hunk 2.*keep it|keep it/)
  assert.is(scene.file(), ORDERS.replace('line3 = 3\n', 'line3 = 33\n'))
  await emacs.shows('It ended: ok.')
  await emacs.heads(/^This plan waits no more; below is what was chosen in this Emacs/)
  await emacs.shows(': odd · ✓ take\n')
  await emacs.signed(0)
  await emacs.until(
    '(with-current-buffer "orders.py" (save-excursion (goto-char 1) (search-forward "line3 = 33" nil t)))',
  )
})

test('where no program has noted an error, that is said', async () => {
  emacs.command('imago-errors')
  await emacs.echoes('No error is noted')
  const said = await emacs.text('(with-current-buffer (messages-buffer) (buffer-string))')
  assert.match(said, /imago-error: No error is noted/)
})

test('the sign goes when somebody else answers, and the plan that is shown says so', async () => {
  await emacs.visit('orders.py')
  const over = new AbortController()
  const answer = scene.client.call({
    tool: 'propose_file_edit',
    args: { edits: [at(5, 'x = 1\n')] },
    signal: over.signal,
  })
  await emacs.opens()
  emacs.type('ny')
  await emacs.shows('· ✓ take')
  over.abort()
  await answer.catch(() => {})
  await emacs.shows('● ')
  await emacs.shows('· ✓ take\n')
  await emacs.signed(0)
})

test('a plan that is opened while a seat is asked for is shown once Emacs has it', async () => {
  await emacs.visit('orders.py')
  emacs.command('imago-leave')
  await emacs.echoes('imago: this Emacs has no seat now')
  await emacs.until('(null (imago-project-seat (imago-project)))')
  const { screen } = await openWatch(scene.rig)
  emacs.command('imago-sit')
  await emacs.echoes('Within a minute, say yes to the code')
  await screen.shows(/Let it\? \[y\]es \[n\]o/)
  const answer = scene.propose(at(4, 'line4 = 44\n'))
  await emacs.signed(1)
  emacs.command('imago-plans')
  await emacs.echoes('Within a minute, say yes to the code')
  screen.type('y\n')
  await emacs.shows('+line4 = 44')
  emacs.type('nr')
  await emacs.replies('\r')
  await emacs.shows('What will be applied: 0 of 1')
  await emacs.sends()
  await answer
  await emacs.visit('orders.py')
  screen.close()
})

/** Puts a line before the text of `orders.py`, and evaluates it where it is. */
async function evaluates(line: string) {
  await emacs.visit('orders.py')
  await emacs.eval(`(progn (goto-char 1) (insert ${JSON.stringify(`${line}\n`)}) (forward-line -1) t)`)
  emacs.type('\u0018\u0005')
}

test('a line is evaluated in its place, and a text that is Emacs Lisp or a code of a terminal is text', async () => {
  await emacs.until('(imago-rows (imago-project) "kernels")')
  await evaluates("ORDER['who']")
  await emacs.echoes("{'name': 'Ada'}")
  await evaluates('print(LISP)')
  await emacs.echoes('(display "b")) (kill-emacs) ⟦U+001B⟧[31m')
})

test('a region with a margin is evaluated, wherever in that margin it begins', async () => {
  const code = 'if True:\\n    first = 20\\n    first + 1\\n'
  for (const begins of ['(ignore)', '(back-to-indentation)']) {
    await emacs.visit('orders.py')
    await emacs.eval(`(progn (goto-char 1) (insert "${code}") (goto-char 1) (forward-line)
      ${begins} (push-mark nil t t) (goto-char ${code.replaceAll('\\n', 'n').length}) (message "nothing") t)`)
    emacs.type('\u0018\u0005')
    await emacs.echoes('21')
  }
})

test('Lisp is not run as Python: where no program takes it, its keys are left to Lisp, and a command says so', async () => {
  await emacs.visit('form.lisp')
  await emacs.eval('(progn (slime-mode -1) (goto-char (point-max)) t)')
  const keys = '(list (key-binding (kbd "C-x C-e")) (imago-xref-backend))'
  assert.is(await emacs.eval(keys), '(eval-last-sexp nil)')
  emacs.command('imago-evaluate-last')
  await emacs.echoes('No program here takes this code')
  await emacs.visit('orders.py')
  assert.is(await emacs.eval(keys), '(imago-evaluate-last imago)')
})

test('the value of code that is typed is in the echo area, and a long one in a buffer', async () => {
  // After the value came, M-x may say how its name can be typed in fewer keys.
  await emacs.eval(`(progn (setq imago-test-left nil suggest-key-bindings 0.1)
    (add-hook 'post-command-hook
      (lambda () (when (eq this-command 'imago-evaluate) (setq imago-test-left (current-message))))) t)`)
  emacs.type('\u001bximago-evaluate\r5 * 5\r')
  await emacs.until('imago-test-left')
  assert.is(await emacs.text('imago-test-left'), '25')
  await emacs.echoes('25')
  assert.match(await emacs.text('(with-current-buffer (messages-buffer) (buffer-string))'), /^25$/m)
  emacs.type("\u001bximago-evaluate\r'x' * 500\r")
  await emacs.until('(get-buffer-window "*imago result*")')
})

test('an error is its message, and a definition of a file is that of the program', async () => {
  await evaluates("ORDER['no']")
  await emacs.echoes('KeyError')
  assert.not.match(await emacs.text('(current-message)'), /next:|details:/)
  await emacs.visit('tax.py')
  await emacs.eval('(progn (search-forward "RATE" nil t 2) (insert " + 1") (set-buffer-modified-p nil) t)')
  emacs.type('\u0003\u0003')
  await emacs.echoes('no value')
  await evaluates("tax.total(['tea'])")
  await emacs.echoes('3')
})

test('M-. goes to the definition of a name as the program has it', async () => {
  await emacs.visit('tax.py')
  await emacs.eval('(progn (goto-char (point-max)) (search-backward "total") t)')
  emacs.type('\u001b.')
  await emacs.until('(looking-at "def total")')
})

test('a value is looked at, and its parts lead on', async () => {
  await emacs.visit('orders.py')
  await emacs.eval('(progn (goto-char 1) (insert "ORDER\\n") (goto-char 1) t)')
  emacs.command('imago-inspect')
  await emacs.until(
    '(string-match-p "Look at (default ORDER): $" (with-selected-window (minibuffer-window) (buffer-string)))',
  )
  emacs.type('\r')
  await emacs.shows('dict · mapping · len 2')
  emacs.type('\t\t\r')
  await emacs.shows("'name': 'Ada'")
  await emacs.shows('len 1')
  emacs.type('l')
  await emacs.shows('len 2')
})

test('a part that the text of a value has on a line is shown once, and leads on', async () => {
  await emacs.visit('orders.py')
  await emacs.eval('(progn (imago-inspect "LONG") t)')
  const seven = '7'.repeat(40)
  await emacs.shows(seven)
  assert.is(await emacs.eval(`(how-many "${seven}" 1)`), '1')
  await emacs.eval(`(progn (goto-char 1) (search-forward "${seven}") (backward-char) t)`)
  emacs.type('\r')
  await emacs.shows('str')
  await emacs.until('(null (search-forward "8888" nil t))')
})

test('a look that code would have to answer says so, and where no name is, none is offered', async () => {
  await emacs.visit('orders.py')
  await emacs.eval('(progn (goto-char 1) (insert "\\n") (goto-char 1) t)')
  emacs.command('imago-inspect')
  await emacs.until(
    '(string-match-p "Look at: $" (with-selected-window (minibuffer-window) (buffer-string)))',
  )
  emacs.type("ORDER.get('id')\r")
  await emacs.echoes('Nothing was run. M-x imago-evaluate runs it.')
})

test('an error is chosen and shown with the values of that moment, and leads to its line', async () => {
  await emacs.visit('orders.py')
  await scene.client.call({
    tool: 'eval_expr',
    args: { kernel: 'shop', expr: "import threading; threading.Thread(target=fail, args=('tea',)).start()" },
  })
  await emacs.until('(imago-rows (imago-project) "errors")')
  emacs.command('imago-errors')
  await emacs.until('(get-buffer "*imago error*")')
  const text = await emacs.text('(with-current-buffer "*imago error*" (buffer-string))')
  assert.match(text, /KeyError: 'tea'/)
  assert.match(text, /key = 'tea'/)
  await emacs.shows("key = 'tea'")
  emacs.type('\r')
  await emacs.shows('def fail(key)')
  assert.match(await emacs.text('(thing-at-point (quote line) t)'), /return ORDER\[key\]/)
  await emacs.eval(
    '(progn (switch-to-buffer "*imago error*") (let ((inhibit-read-only t)) (erase-buffer)) t)',
  )
  emacs.type('g')
  await emacs.shows("key = 'tea'")
})

test('the threads of the program are shown, g looks again, and RET goes to the place of a frame', async () => {
  await emacs.visit('orders.py')
  emacs.command('imago-threads')
  await emacs.until('(get-buffer "*imago threads*")')
  assert.match(await emacs.text('(with-current-buffer "*imago threads*" (buffer-string))'), /MainThread|main/)
  await scene.client.call({
    tool: 'eval_expr',
    args: {
      kernel: 'shop',
      expr: "import threading; threading.Thread(target=tax.wait, args=('tea',)).start()",
    },
  })
  await emacs.eval('(progn (switch-to-buffer "*imago threads*") t)')
  emacs.type('g')
  await emacs.shows("given = 'tea'")
  await emacs.eval(`(progn (search-forward "given = 'tea'") t)`)
  emacs.type('\r')
  await emacs.until('(equal (buffer-name) "tax.py")')
  assert.match(await emacs.text('(thing-at-point (quote line) t)'), /threading\.Event/)
})

test('the change is taken back by a plan of its own', async () => {
  await emacs.visit('orders.py')
  emacs.command('imago-undo')
  await emacs.shows('+line3 = 3')
  emacs.type('\u001b>')
  await emacs.until('(pos-visible-in-window-p (point-max))')
  emacs.type('y')
  await emacs.sends()
  await until(() => scene.file() === ORDERS, 'the old text')
  await emacs.shows('It ended: ok.')
  await emacs.echoes('imago: took back plan-')
  assert.not.match(await emacs.text('(current-message)'), /to have it again/)
  emacs.command('imago-undo')
  await emacs.echoes('There is no change to take back.')
})

/** The line that point is in. */
const line = () =>
  emacs.text('(buffer-substring-no-properties (line-beginning-position) (line-end-position))')

test('an edit that is given up decides nothing, one goes on to the next undecided hunk, and y keeps it', async () => {
  await emacs.visit('orders.py')
  const answer = scene.propose(at(20, 'line20 = 0\n'), at(25, 'line25 = 0\n'), at(30, 'line30 = 0\n'))
  await emacs.opens()
  const edits = async (text: string) => {
    emacs.type('e')
    await emacs.until('(eq major-mode (quote imago-plan-edit-mode))')
    await emacs.eval(`(progn (erase-buffer) (insert "${text}\\n") t)`)
    emacs.type('\u0003\u0003')
    await emacs.until('(eq major-mode (quote imago-plan-mode))')
  }
  await emacs.eval('(progn (delete-other-windows) t)')
  emacs.type('ne')
  await emacs.until('(eq major-mode (quote imago-plan-edit-mode))')
  emacs.type('\u0003\u000b')
  await emacs.until('(eq major-mode (quote imago-plan-mode))')
  await emacs.shows('━ hunk 1 of 3 · orders.py:21 · undecided')
  await edits('line20 = 20 # mine')
  await emacs.shows('+line20 = 20 # mine')
  await until(async () => /^━ hunk 2 of 3 .* undecided$/.test(await line()), 'hunk 2')
  emacs.type('py')
  await emacs.echoes('imago: your text is kept; u or r at it drops it')
  await emacs.shows('━ hunk 1 of 3 · orders.py:21 · ✎ edit\n-line20 = 20\n+line20 = 20 # mine')
  assert.match(await line(), /^━ hunk 2 of 3/)
  emacs.type('pu')
  await emacs.shows('━ hunk 1 of 3 · orders.py:21 · undecided\n@@')
  await emacs.shows('+line20 = 0\n')
  await edits('line20 = 20 # no')
  await until(async () => /^━ hunk 2 of 3/.test(await line()), 'hunk 2')
  emacs.type('pr')
  await emacs.replies('\r')
  await emacs.shows('━ hunk 1 of 3 · orders.py:21 · ✗ refuse\n@@')
  assert.match(await line(), /^━ hunk 2 of 3/)
  await edits('line25 = 25 # mine')
  await until(async () => /^━ hunk 3 of 3/.test(await line()), 'hunk 3')
  emacs.type('y')
  await emacs.shows('━ hunk 2 of 3 · orders.py:26 · ✎ edit\n-line25 = 25\n+line25 = 25 # mine')
  await emacs.sends()
  await answer
  assert.match(scene.file(), /^line25 = 25 # mine$/m)
  assert.match(scene.file(), /^line20 = 20$/m)
  await emacs.shows('orders.py:26 · ✎ edit\n')
  await emacs.shows('orders.py:31 · ✓ take\n')
})

test('unsaved text is said first and saved by a key, and what a plan has as Emacs Lisp never runs', async () => {
  await emacs.visit('orders.py')
  await emacs.eval('(progn (setq imago-test-ran nil) (goto-char (point-max)) (insert "z = 1\\n") t)')
  const hostile = '# Local Variables:\n# eval: (setq imago-test-ran t)\n# End:\n'
  const answer = scene.propose(at(7, hostile))
  await emacs.opens()
  await emacs.heads(/^! orders.py: unsaved; S saves, and ends this plan · y take/)
  await emacs.shows('+# eval: (setq imago-test-ran t)')
  emacs.type('S')
  await until(() => scene.file().endsWith('z = 1\n'), 'the text')
  await emacs.echoes('orders.py is saved; this plan is out of date: it has to be asked for again')
  await emacs.heads(/^y take/)
  emacs.type('nr')
  await emacs.replies('\r')
  await emacs.shows('✗ refuse')
  await emacs.sends()
  assert.match(JSON.stringify(await answer), /denied|stale/)
  assert.is(await emacs.eval('imago-test-ran'), 'nil')
  await emacs.shows('● ')
})

test('an answer to a plan on unsaved text is sent under the line that says so, and marks what a name hides', async () => {
  await emacs.visit('orders.py')
  const answer = scene.propose(at(8, 'line8 = 88\n'))
  await emacs.opens()
  await emacs.eval('(with-current-buffer "orders.py" (goto-char (point-max)) (insert "z = 2\\n") t)')
  emacs.type('ny')
  await emacs.heads(/^! orders.py: unsaved; S saves, and ends this plan · y sends/)
  await emacs.eval('(with-current-buffer "orders.py" (rename-buffer "%b\\u202e.py") t)')
  await emacs.heads(/^! %b⟦U\+202E⟧.py: unsaved; S saves, and ends this plan · y sends/)
  await emacs.eval('(with-current-buffer "%b\\u202e.py" (rename-buffer "orders.py") t)')
  await emacs.sends()
  await answer
  assert.match(scene.file(), /^line8 = 88$/m)
})

test('a hunk is edited, and what was written is there once its end was on the screen', async () => {
  await emacs.visit('orders.py')
  const answer = scene.propose(at(9, 'line9 = 99\n'))
  await emacs.opens()
  emacs.type('ne')
  await emacs.until('(eq major-mode (quote imago-plan-edit-mode))')
  await emacs.eval(
    '(progn (erase-buffer) (insert "line9 = 9 # nine\\n" (make-string 50 ?\\n) "last = 1\\n") t)',
  )
  emacs.type('\u0003\u0003')
  await emacs.shows('✎ edit')
  await emacs.shows('+line9 = 9 # nine')
  await emacs.sends()
  await emacs.echoes('imago: there is more below: once more at its end')
  assert.is(await emacs.eval('imago-plan--stage'), 'confirm')
  emacs.type('\u001b>')
  await emacs.until('(pos-visible-in-window-p (point-max))')
  emacs.type('y')
  await answer
  assert.match(scene.file(), /^line9 = 9 # nine\n{51}last = 1$/m)
})

test('C-g ends the wait for a plan, which then takes no window from the person', async () => {
  await emacs.visit('orders.py')
  const over = new AbortController()
  const answer = scene.client.call({
    tool: 'propose_file_edit',
    args: { edits: [at(13, 'line13 = 0\n')] },
    signal: over.signal,
  })
  await emacs.signed(1)
  const { pid } = await scene.client.request('status', {})
  process.kill(pid, 'SIGSTOP')
  emacs.command('imago-plans')
  await emacs.until('(imago-project-keys (imago-project))')
  emacs.type('\u0007')
  await emacs.until('(null (imago-project-keys (imago-project)))')
  process.kill(pid, 'SIGCONT')
  await emacs.echoes('imago: the plan is in the buffer *imago plan-')
  assert.is(await emacs.eval('(buffer-name)'), '"orders.py"')
  over.abort()
  await answer.catch(() => {})
  await emacs.signed(0)
})

test('a plan of 10,000 lines is drawn, and the daemon may restart under it', async () => {
  await emacs.visit('orders.py')
  const long = Array.from({ length: 10_000 }, (_, n) => `x${n} = ${n}\n`).join('')
  const answer = scene.propose(at(11, long)).catch(() => {})
  await emacs.opens()
  await emacs.until(`(save-excursion (goto-char 1) (search-forward "+x9999 = 9999" nil t))`)
  const { pid } = await scene.client.request('status', {})
  process.kill(pid, 'SIGKILL')
  await answer
  await emacs.signed(0)
  await emacs.until(`(save-excursion (goto-char 1) (looking-at "● "))`)
  await emacs.until(SITS)
  scene.client = await scene.rig.connect()
  await emacs.visit('orders.py')
  const next = scene.propose(at(12, 'line12 = 0\n'))
  await emacs.opens()
  await emacs.shows('+line12 = 0')
  emacs.type('ny')
  await emacs.sends()
  await next
  assert.match(scene.file(), /^line12 = 0$/m)
})

test('errors of a program that has ended are listed, and shown with the values of that moment', async () => {
  await emacs.visit('orders.py')
  const other = await startProgram({
    folder: scene.rig.project,
    runtimeDir: scene.rig.paths.runtimeDir,
    name: 'till',
    source: 'def count(coins):\n    return coins["red"]',
  })
  await scene.client.call({
    tool: 'eval_expr',
    args: {
      kernel: 'till',
      expr: "import threading; threading.Thread(target=count, args=({'blue': 1},)).start()",
    },
  })
  await emacs.until(
    '(seq-find (lambda (row) (equal (plist-get row :kernel) "till")) (imago-rows (imago-project) "errors"))',
  )
  other.signal('SIGTERM')
  await other.ended
  await emacs.until(
    '(not (seq-find (lambda (row) (equal (plist-get row :kernel) "till")) (imago-rows (imago-project) "errors")))',
  )
  emacs.command('imago-errors')
  const named = `Error (default 1 KeyError: 'red' (till, process ${other.pid}, ended, `
  await emacs.until(
    `(and (active-minibuffer-window) (with-selected-window (minibuffer-window) (string-prefix-p "${named}" (minibuffer-prompt))))`,
  )
  emacs.type('\r')
  await emacs.until(
    `(with-current-buffer "*imago error*" (save-excursion (goto-char 1) (search-forward "coins = {'blue': 1}" nil t)))`,
  )
})

/** What `read_buffer` answers of a file of the project. */
async function buffer(path: string) {
  const envelope = await scene.client.call({ tool: 'read_buffer', args: { path } })
  assert.ok(envelope.ok, JSON.stringify(envelope))
  return envelope.result as {
    readonly editor: string | null
    readonly unsaved: boolean
    readonly text: string
  }
}

test('text that is not saved is read as it is typed, reverted, narrowed and named, until its buffer is killed', async () => {
  await emacs.visit('orders.py')
  const open = async (isUnsaved: boolean, has: string) => {
    await until(async () => {
      const { editor, unsaved, text } = await buffer('orders.py')
      return editor === 'imago lsp in Emacs' && unsaved === isUnsaved && text.startsWith(has)
    }, has)
  }
  await emacs.eval('(progn (goto-char 1) t)')
  emacs.type('typed = "x"\r')
  await open(true, 'typed = "x"\nline0')
  // A raw byte is nothing that JSON can hold, and half a character neither.
  await emacs.eval('(progn (goto-char 1) (insert "é😀" #x3fff80 #xd800) (narrow-to-region 1 2) t)')
  await open(true, 'é😀\ufffd\ufffdtyped')
  await emacs.eval('(progn (widen) (revert-buffer t t) t)')
  await open(false, scene.file().slice(0, 20))
  await emacs.eval('(progn (goto-char 1) (insert "late = 1\\n") (python-mode) t)')
  await open(true, 'late = 1\n')
  await emacs.eval('(progn (set-visited-file-name "named.py" t) t)')
  const named = () => scene.client.call({ tool: 'read_buffer', args: { path: 'named.py' } })
  await until(async () => (await named()).ok, 'the text under its new name')
  assert.is((await buffer('orders.py')).editor, null)
  await emacs.eval('(progn (set-buffer-modified-p nil) (kill-buffer) t)')
  await until(async () => !(await named()).ok, 'no text, for there is no such file')
})

test('an `imago lsp` that is started again after its end has the texts that are open', async () => {
  await emacs.visit('orders.py')
  await emacs.eval('(progn (goto-char 1) (insert "again = 1\\n") t)')
  await until(async () => (await buffer('orders.py')).unsaved, 'the text')
  await emacs.eval('(progn (delete-process (jsonrpc--process (imago-project-connection (imago-project)))) t)')
  await until(async () => (await buffer('orders.py')).editor === null, 'no editor')
  await emacs.eval('(and (imago-project) t)')
  await until(async () => (await buffer('orders.py')).text.startsWith('again = 1\n'), 'the text again')
  await emacs.until(SITS)
})

test('nothing is told of buffers without a file, of files that are elsewhere, and where imago-mode is off', async () => {
  const outside = join(scene.rig.folder, 'outside.py')
  writeFileSync(outside, 'secret = 1\n')
  symlinkSync(outside, join(scene.rig.project, 'link.py'))
  await emacs.visit('orders.py')
  await emacs.eval(`(progn (setq imago-test-told nil)
    (defun imago-test-note (_ method params) (push (list method params) imago-test-told))
    (advice-add 'jsonrpc-notify :before #'imago-test-note) t)`)
  const told = () => emacs.text('(json-encode (format "%S" imago-test-told))')
  await emacs.eval('(progn (find-file "link.py") (goto-char 1) (insert "secret = 2\\n") imago-mode)')
  await emacs.eval(`(with-current-buffer (generate-new-buffer "none.py")
    (python-mode) (imago-mode) (insert "secret = 3\\n") t)`)
  await emacs.eval(`(with-current-buffer (find-file-noselect "tax.py")
    (imago-mode -1) (goto-char 1) (insert "secret = 4\\n") t)`)
  await emacs.visit('orders.py')
  await emacs.eval('(progn (goto-char 1) (insert "here = 1\\n") t)')
  await until(async () => (await told()).includes('here = 1'), 'the text that is told')
  const all = await told()
  assert.match(all, /textDocument\/didClose.*tax\.py/s)
  assert.not.match(all, /secret|link\.py|outside\.py/)
  await emacs.eval(`(progn (advice-remove 'jsonrpc-notify #'imago-test-note) (kill-buffer "none.py")
    (with-current-buffer "tax.py" (revert-buffer t t t) (imago-mode)) t)`)
  await emacs.visit('orders.py')
})

test('SLIME keeps its keys in a buffer of Lisp, and imago-mode has them elsewhere', async () => {
  const keys = `(list (key-binding (kbd "C-c C-c")) (key-binding (kbd "C-x C-e")) (car xref-backend-functions))`
  const lisp = (mode: string) =>
    emacs.eval(
      `(with-temp-buffer (lisp-mode) (slime-mode ${mode}) ${mode === '1' ? '(imago-mode)' : ''} ${keys})`,
    )
  assert.match(await lisp('1'), /^\(slime-compile-defun slime-eval-last-expression/)
  const own = await emacs.eval(`(with-current-buffer "orders.py" ${keys})`)
  assert.is(own, '(imago-evaluate-defun imago-evaluate-last imago-xref-backend)')
})

test('Lisp is evaluated in an image of SBCL: the definition around point and the form before it, beside Python', async () => {
  const swank = await startSwank({ home: scene.rig.folder })
  const attached = await scene.rig.imago(['attach', `swank://${swank.port}`, '--no-secret'])
  assert.is(attached.code, 0, attached.stderr)
  await emacs.visit('form.lisp')
  await emacs.eval(`(progn (slime-mode -1) (erase-buffer)
    (insert "(defun twice (n)\\n  (* 2 n))\\n\\n(list (twice 4) :seen)") (goto-char 9) t)`)
  await emacs.until('(imago-takers (imago-project))')
  emacs.type('\u0003\u0003')
  await emacs.echoes('twice')
  await emacs.eval('(progn (goto-char (point-max)) t)')
  emacs.type('\u0018\u0005')
  await emacs.echoes('(8 :seen)')
  await emacs.visit('orders.py')
  await evaluates('1 + 1')
  await emacs.echoes('2')
  swank.kill()
})

test('keys of Python are left to it where the project has no program', async () => {
  const folder = mkdtempSync(join(scene.rig.folder, 'idle-'))
  writeFileSync(join(folder, 'imago.toml'), '')
  writeFileSync(join(folder, 'idle.py'), 'x = 1\n')
  await emacs.eval(`(progn (find-file "${join(folder, 'idle.py')}") (imago-project) t)`)
  await emacs.until('(bound-and-true-p imago-mode)')
  const keys = '(list (key-binding (kbd "C-c C-c")) (key-binding (kbd "C-x C-e")))'
  assert.is(await emacs.eval(keys), '(python-shell-send-buffer eval-last-sexp)')
  await emacs.visit('orders.py')
  assert.is(await emacs.eval(keys), '(imago-evaluate-defun imago-evaluate-last)')
})

test('an Emacs that no person can see connects to nothing and asks for no seat, until it has a frame', () => {
  const form = `(progn
    (require 'jsonrpc)
    (advice-add 'jsonrpc-async-request :before
      (lambda (_ method params &rest _) (princ (list method (plist-get params :initializationOptions)))))
    (find-file "orders.py")
    (imago--begin (current-buffer))
    (princ "unseen ")
    (cl-letf ((noninteractive nil) ((symbol-function 'terminal-name) (lambda (&rest _) "/dev/tty")))
      (run-hooks 'server-after-make-frame-hook)))`
  const command = `(setq imago-command '("${process.execPath}" "${MAIN}" "lsp"))`
  const words = ['-Q', '--batch', '-L', EMACS_PLUGIN, '-l', 'imago', '--eval', command, '--eval', form]
  const { stdout } = spawnSync(emacsPaths().emacs, words, {
    cwd: scene.rig.project,
    env: { ...process.env, ...scene.rig.env },
    encoding: 'utf8',
    timeout: 30_000,
  })
  assert.match(stdout, /^unseen \(initialize \(:sit t\)\)/)
})

const FILES = ['imago.el', 'imago-plan.el', 'imago-program.el']
/** What Emacs says of the package on its standard error, without a terminal. */
function batch(...words: string[]) {
  const { emacs: program } = emacsPaths()
  const { stderr } = spawnSync(program, ['--batch', ...words], { cwd: EMACS_PLUGIN, encoding: 'utf8' })
  return stderr.trim()
}

test('compiles without a warning, and checkdoc has nothing to say', () => {
  const folder = mkdtempSync(join(scene.rig.folder, 'elc-'))
  const away = `(setq byte-compile-error-on-warn t byte-compile-dest-file-function
    (lambda (file) (expand-file-name (concat (file-name-nondirectory file) "c") "${folder}")))`
  assert.is(batch('-Q', '-L', '.', '--eval', away, '-f', 'batch-byte-compile', ...FILES), '')
  const names = FILES.map(name => `"${name}"`).join(' ')
  assert.is(batch('-Q', '--eval', `(dolist (file '(${names})) (checkdoc-file file))`), '')
})

test('package-lint has nothing to say', () => {
  const load = `(progn (package-initialize) (require 'package-lint) (setq package-lint-main-file "imago.el"))`
  // Without -Q: Debian has told of its packages in a file of the site.
  const said = batch('--eval', load, '-f', 'package-lint-batch-and-exit', ...FILES)
  const lines = said.split('\n').filter(line => line.startsWith('imago'))
  // Debian's is older than Emacs 28.1, which the package needs.
  assert.equal(
    lines.filter(
      line => !line.endsWith('This makes the package uninstallable in all released Emacs versions.'),
    ),
    [],
  )
  assert.match(said, /Entering directory/)
})
