import { readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Tool } from '../tools/define.ts'
import { TOOLS } from '../tools/index.ts'
import type { Envelope } from '../tools/outcome.ts'
import { type AttachedLisp, openAttachedLisp } from './support/attached-lisp.ts'
import { errorOf, resultOf } from './support/calls-rig.ts'
import { assert, suite } from './support/harness.ts'
import type { Reply } from './support/seat.ts'

/**
 * What a contract before this one said, and its code did not do: each row of that list, done here by the same call path
 * as in the daemon, over real files and a real Lisp that is attached.
 */
const test = suite('the contract that a program before this one had and did not keep', { limitMs: 60_000 })

/** Text that a handler which unescapes it, or trims it, makes another one of. */
const TRICKY = '(list #\\newline #\\Tab "a\\nb\\\\t" \'|x\\|y|)  \n\t"\\\\n" ; é😀\n'

let lisp: AttachedLisp

test.before(async () => {
  lisp = await openAttachedLisp()
})
test.after(() => lisp?.close())

const names = () => readdirSync(lisp.root, { recursive: true, encoding: 'utf8' }).sort()
const file = (name: string) => readFileSync(join(lisp.root, name), 'utf8')
const policy = (text: string) => writeFileSync(join(lisp.rig.folder, 'policy.toml'), text)
const codeOf = (envelope: Envelope) => (envelope.ok ? 'done' : envelope.error.code)

/** The answer, with somebody on a seat who answers so. */
async function answered(reply: Reply, call: () => Promise<Envelope>): Promise<Envelope> {
  const seat = lisp.rig.seat(() => reply)
  try {
    return await call()
  } finally {
    seat.leave()
  }
}

/** A call of each tool that changes files, over what `lay` puts there. */
const CHANGES: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  write_file: { path: 'a.lisp', content: '(new)\n' },
  edit_file: { path: 'a.lisp', old_str: '(old)', new_str: '(new)' },
  propose_file_edit: { edits: [{ path: 'a.lisp', old_str: '(old)', new_str: '(new)' }] },
  insert_at_line: { path: 'a.lisp', line: 1, content: '(new)\n' },
  create_file: { path: 'new/b.lisp', content: '(new)\n' },
  move_file: { source: 'a.lisp', destination: 'c.lisp' },
  delete_file: { path: 'a.lisp' },
  undo_change: { change: 'set by the test' },
}

/** The one file that they change, beside no other, and a change of it that can be taken back. */
async function lay(): Promise<Record<string, Readonly<Record<string, unknown>>>> {
  for (const name of ['c.lisp', 'new/b.lisp']) rmSync(join(lisp.root, name), { force: true })
  lisp.put('a.lisp', '(first)\n')
  const { undo } = resultOf(await approved('write_file', { path: 'a.lisp', content: '(old)\n' }))
  return { ...CHANGES, undo_change: { change: undo } }
}

const approved = (tool: string, args: unknown) => answered('approve', () => lisp.run(tool, args))
const looks = () => names().map(name => [name, name.endsWith('.lisp') ? file(name) : ''])

test('levels are those of the contract, and whoever may approve is asked', async () => {
  assert.equal(
    TOOLS.map(({ level }) => level).filter(level => !['safe', 'cautious', 'dangerous'].includes(level)),
    [],
  )
  // Nothing is hidden for its level.
  assert.ok(TOOLS.some(({ name, level }) => name === 'write_file' && level === 'dangerous'))
  policy('[[rule]]\ndecision = "ask"\nlevel = "cautious"\n')
  const run = () => lisp.run('eval_expr', { expr: '(defparameter cl-user::*approved* t)' })
  assert.is(errorOf(await run()).code, 'approval_unavailable')
  assert.is(errorOf(await answered({ deny: 'not now' }, run)).code, 'denied')
  assert.is(await lisp.ask("(boundp 'cl-user::*approved*)"), 'NIL')
  assert.is(codeOf(await answered('approve', run)), 'done')
  assert.is(await lisp.ask("(boundp 'cl-user::*approved*)"), 'T')
  policy('')
})

test('every change of a file needs an approval of its difference', async () => {
  const changing = ({ level, categories }: Tool) => level !== 'safe' && categories.includes('files')
  assert.equal(
    TOOLS.filter(changing)
      .flatMap(({ name, presets }) => [name, ...Object.keys(presets)])
      .sort(),
    Object.keys(CHANGES).sort(),
  )
  for (const tool of Object.keys(CHANGES)) {
    const { [tool]: args } = await lay()
    const before = looks()
    assert.is(errorOf(await lisp.run(tool, args)).code, 'approval_unavailable', tool)
    assert.is(errorOf(await answered('deny', () => lisp.run(tool, args))).code, 'denied', tool)
    assert.equal(looks(), before, `${tool} has changed what nobody approved`)
    assert.ok(resultOf(await approved(tool, args)))
    assert.is.not(JSON.stringify(looks()), JSON.stringify(before), tool)
  }
})

test('paths are confined to the project, for reading too', async () => {
  const all = await lay()
  const outside = join(lisp.rig.folder, 'outside.lisp')
  writeFileSync(outside, '(secret)\n')
  symlinkSync(outside, lisp.put('x', '').replace(/x$/, 'link.lisp'))
  const confined = TOOLS.filter(({ paths }) => paths.some(path => path.confined))
  assert.ok(confined.some(({ name }) => name === 'read_file'))
  for (const { name, paths } of confined)
    for (const { name: parameter, each } of paths)
      for (const path of [
        outside,
        '../outside.lisp',
        'link.lisp',
        '/etc/hostname',
        '../../../../etc/hostname',
      ]) {
        const fine = all[name] ?? (name === 'search_in_buffer' ? { text: 'old' } : {})
        const [edit] = (fine[parameter] ?? []) as object[]
        const value = each === undefined ? path : [{ ...edit, [each]: path }]
        const { code, details } = errorOf(await approved(name, { ...fine, [parameter]: value }))
        assert.equal([code, details.reason], ['path_refused', 'outside_project'], `${name} of ${path}`)
      }
  assert.is(readFileSync(outside, 'utf8'), '(secret)\n')
})

test('get_last_error shows the frame that failed, with what its variables held', async () => {
  const form = `
    (defun cl-user::innermost (thing) (declare (optimize (debug 3))) (1+ (error "Cannot ship ~S." thing)))
    (defun cl-user::outermost (box) (declare (optimize (debug 3))) (1+ (cl-user::innermost (first box))))`
  resultOf(await lisp.run('compile_form', { form }))
  assert.is(
    errorOf(await lisp.run('eval_expr', { expr: '(cl-user::outermost (list 4711))' })).code,
    'exception',
  )
  const { error } = resultOf(await lisp.run('get_last_error', {})) as { error: Failure }
  assert.match(error.message, /Cannot ship 4711/)
  const frames = error.frames.filter(frame => /innermost|outermost/.test(frame.function))
  assert.equal(
    frames.map(frame => frame.function.replace(/^.*::/, '')),
    ['outermost', 'innermost'],
  )
  assert.equal(
    frames.at(-1)?.locals.map(local => [local.name, local.repr]),
    [['thing', '4711']],
  )
})

interface Failure {
  readonly message: string
  readonly frames: readonly {
    readonly function: string
    readonly locals: readonly { readonly name: string; readonly repr: string }[]
  }[]
}

test('who_calls finds callers, and tells that there are none from that it failed', async () => {
  const form =
    '(defun cl-user::called () 1) (defun cl-user::calls () (cl-user::called)) (defun cl-user::lonely () 1)'
  resultOf(await lisp.run('compile_form', { form }))
  const found = resultOf(await lisp.run('who_calls', { name: 'cl-user::called' }))
  assert.equal(
    (found.references as { from: string }[]).map(({ from }) => from.replace(/^.*::/, '')),
    ['calls'],
  )
  const none = resultOf(await lisp.run('who_calls', { name: 'cl-user::lonely' }))
  assert.equal([none.total, none.references], [0, []])
  assert.ok((none.searched as string[]).length > 0)
  for (const name of ['cl-user::no-such-function', 'no-such-package::f'])
    assert.is(errorOf(await lisp.run('who_calls', { name })).code, 'not_found', name)
  assert.is(errorOf(await lisp.run('who_calls', { name: '(' })).code, 'invalid_args')
})

test('macroexpand_form is not called safe, and reads nothing that runs before the gate has let it', async () => {
  const expand = () => lisp.run('macroexpand_form', { form: '(when #.(setf cl-user::*expanded* t) 1)' })
  const ran = () => lisp.ask("(boundp 'cl-user::*expanded*)")
  assert.is(TOOLS.find(({ name }) => name === 'macroexpand_form')?.level, 'cautious')
  for (const [decision, code] of [
    ['deny', 'denied'],
    ['ask', 'approval_unavailable'],
  ] as const) {
    policy(`[[rule]]\ndecision = "${decision}"\nlevel = "cautious"\n`)
    assert.is(codeOf(await expand()), code)
    assert.is(await ran(), 'NIL')
  }
  policy('')
  assert.is(codeOf(await expand()), 'done')
  assert.is(await ran(), 'T')
})

test('the original is compared, and nothing in a text is unescaped', async () => {
  const wrong = { path: 'same.lisp', old_str: '(something else)', new_str: '(new)' }
  lisp.put('same.lisp', '(old)\n')
  for (const [tool, args] of [
    ['edit_file', wrong],
    ['propose_file_edit', { edits: [wrong] }],
  ] as const)
    assert.is(errorOf(await approved(tool, args)).code, 'no_unique_match', tool)
  assert.is(file('same.lisp'), '(old)\n')
  const ways = {
    write_file: { path: 'same.lisp', content: TRICKY },
    edit_file: { path: 'same.lisp', old_str: '(old)\n', new_str: TRICKY },
    propose_file_edit: { edits: [{ path: 'same.lisp', old_str: '(old)\n', new_str: TRICKY }] },
    insert_at_line: { path: 'same.lisp', line: 1, content: TRICKY },
  }
  for (const [tool, args] of Object.entries(ways)) {
    lisp.put('same.lisp', '(old)\n')
    resultOf(await approved(tool, args))
    assert.is(file('same.lisp'), tool === 'insert_at_line' ? `${TRICKY}(old)\n` : TRICKY, tool)
  }
  // And what was found by such a text is what stands there.
  const back = { path: 'same.lisp', old_str: '#\\newline #\\Tab "a\\nb', new_str: '#\\newline' }
  resultOf(await approved('edit_file', back))
  assert.is(
    file('same.lisp'),
    `${TRICKY}(old)\n`.replace(back.old_str, () => back.new_str),
  )
})
