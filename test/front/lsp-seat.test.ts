import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { CodeAction } from 'vscode-languageserver/node'
import { inWords } from '../../src/front/lsp/row-lines.ts'
import type { Methods } from '../../src/front/protocol.ts'
import { type Editor, openEditor } from '../support/editor.ts'
import { assert, suite } from '../support/harness.ts'
import { openRig, until } from '../support/rig.ts'
import { openSeatTerminal } from '../support/watching.ts'

type Seated = { readonly seat: string; readonly resume?: string }

const test = suite('a seat through a language server', { limitMs: 90_000 })
const TEXT = 'def total(order, rate=2):\n    return order * rate\n'
const rig = openRig({ files: { 'orders.py': TEXT, 'pyproject.toml': '' } })
test.after(() => rig.close())

test('an editor sits, opens a plan by its action with all that cannot be seen marked, approves it, and undoes it', async () => {
  const shown: string[] = []
  const editor = await openEditor(rig, {
    roots: [rig.project],
    chooses(message, buttons) {
      shown.push(`${message} ${buttons}`)
      return buttons.find(one => one === 'Approve')
    },
  })
  const file = join(rig.project, 'orders.py')
  const uri = await editor.open(file)
  const seated = await editor.request<{ type: string; resume?: string }>('imago/sit')
  assert.equal([seated.type, typeof seated.resume], ['seated', 'string'])
  await editor.request('imago/subscribe', { topics: ['approvals'] })
  const client = await rig.connect()
  const args = { path: 'orders.py', old_str: 'rate=2', new_str: 'rate=3\u202e' }
  const call = client.call({ tool: 'edit_file', args })
  const at = { line: 0, character: 0 }
  const asked = { textDocument: { uri }, range: { start: at, end: at }, context: { diagnostics: [] } }
  let show: CodeAction | undefined
  await until(async () => {
    const actions = await editor.request<CodeAction[]>('textDocument/codeAction', asked)
    show = actions.find(({ title }) => title.startsWith('Show plan-'))
    return show !== undefined
  }, 'the plan')
  await editor.request('workspace/executeCommand', show?.command)
  assert.ok((await call).ok)
  assert.match(shown.join('\n'), /Asked by [\s\S]*rate=3⟦U\+202E⟧[\s\S]*Approve,Deny/)
  assert.not.match(shown.join('\n'), /\u202e/)
  assert.match(readFileSync(file, 'utf8'), 'rate=3')
  /** The names by which changes can be taken back now, the oldest first. */
  const undos = async () => {
    const { ends } = await editor.request<Methods['approvals']['result']>('imago/approvals')
    return ends.map(({ ended }) => ended?.undo ?? null)
  }
  const undo = async (change: string | null | undefined, then: RegExp) => {
    const undone = editor.request<{ ok: boolean }>('imago/call', { tool: 'undo_change', args: { change } })
    await until(async () => {
      const { approvals } = await editor.request<Methods['approvals']['result']>('imago/approvals')
      const [plan] = approvals
      if (plan === undefined) return then.test(readFileSync(file, 'utf8'))
      await editor.request('imago/answer', { plan: plan.id, hash: plan.hash, decision: 'approve' })
      return true
    }, 'the plan of the undo')
    assert.ok((await undone).ok)
  }
  await until(async () => (await undos())[0] != null, 'what came of it')
  const [change] = await undos()
  await undo(change, /rate=2/)
  assert.is(readFileSync(file, 'utf8'), TEXT)
  const [gone, back] = await undos()
  assert.equal([gone, typeof back], [null, 'string'], 'a change that was taken back is none to take back')
  await undo(back, /rate=3/)
  assert.equal((await undos()).slice(0, 2), [change, null], 'and is one again, once that was taken back')
  await undo(change, /rate=2/)
  assert.is(readFileSync(file, 'utf8'), TEXT)
  await editor.close()
})

test('a plan of two files is an action in each of them, and a late answer to it says why it did not count', async () => {
  for (const name of ['one file.py', 'two.py']) writeFileSync(join(rig.project, name), TEXT)
  const editor: Editor = await openEditor(rig, {
    roots: [rig.project],
    async chooses(_, buttons) {
      const { approvals } = await editor.request<Methods['approvals']['result']>('imago/approvals')
      for (const { id, hash } of approvals)
        await editor.request('imago/answer', { plan: id, hash, decision: 'deny' })
      return buttons.find(one => one === 'Approve')
    },
  })
  const uris = [
    await editor.open(join(rig.project, 'one file.py')),
    await editor.open(join(rig.project, 'two.py')),
  ]
  const other = await editor.open(join(rig.project, 'orders.py'))
  await editor.request('imago/sit')
  await editor.request('imago/subscribe', { topics: ['approvals'] })
  const client = await rig.connect()
  const edits = ['one file.py', 'two.py'].map(path => ({ path, old_str: 'rate=2', new_str: 'rate=4' }))
  const call = client.call({ tool: 'propose_file_edit', args: { edits } })
  const shown = async (uri: string) => {
    const at = { line: 0, character: 0 }
    const asked = { textDocument: { uri }, range: { start: at, end: at }, context: { diagnostics: [] } }
    const actions = await editor.request<CodeAction[]>('textDocument/codeAction', asked)
    return actions.find(({ title }) => title.startsWith('Show plan-'))
  }
  for (const uri of uris) await until(async () => (await shown(uri)) !== undefined, `the plan of ${uri}`)
  assert.is(await shown(other), undefined)
  await editor.request('workspace/executeCommand', (await shown(uris[0] ?? ''))?.command)
  assert.match(editor.messages().at(-1) ?? '', /^The answer did not count: /)
  await call
  assert.is(readFileSync(join(rig.project, 'two.py'), 'utf8'), TEXT)
  await editor.close()
})

test('a seat that broke with its connection is taken again by itself, and is one however often it is asked for', async () => {
  const editor = await openEditor(rig, { roots: [rig.project] })
  const asked = await Promise.all([editor.request<Seated>('imago/sit'), editor.request<Seated>('imago/sit')])
  assert.is(asked[0].seat, asked[1].seat)
  const told = () =>
    editor.heard
      .filter(({ method }) => method === 'imago/seat')
      .map(({ params }) => (params as { type: string }).type)
  const daemon = await editor.request<{ pid: number }>('imago/status')
  process.kill(daemon.pid, 'SIGKILL')
  await until(() => told().length === 3, 'the seat')
  assert.equal(told(), ['seated', 'left', 'seated'])
  await editor.request('imago/leave')
  await until(() => told().length === 4, 'the end of the seat')
  await editor.close()
})

test('rows, what waits, a plan, a seat and a fault are told in the words that a person reads', async () => {
  const follow = ['approvals', 'seats', 'suspensions', 'errors'] as const
  const wishes = { follow, places: true }
  const editor = await openEditor(rig, { roots: [rig.project], initializationOptions: wishes })
  const told = <Params>(method: string) =>
    editor.heard.filter(one => one.method === method).map(({ params }) => params as Params)
  const waits = () =>
    told<{ text: string; news: boolean }>('imago/waits').map(({ text, news }) => (news ? `${text}!` : text))
  const rows = () => JSON.stringify(told('imago/rows'))
  await editor.request('imago/plan', { plan: 'plan-x', shown: true }).then(
    () => assert.unreachable(),
    ({ message, data }: { message: string; data?: { next?: string; shown?: string } }) =>
      assert.is(data?.shown, `${message} ${data?.next}`),
  )
  const { shown } = await editor.request<{ shown: string }>('imago/sit')
  await editor.request('imago/plan', { plan: 'plan-x', shown: true }).then(
    () => assert.unreachable(),
    ({ data }: { data?: { shown?: string } }) => assert.is(data?.shown, 'plan-x waits no more.'),
  )
  assert.match(shown, /^seated through .*, which calls itself "Test"$/)

  const client = await rig.connect()
  const edit = (old_str: string, new_str: string) => ({ path: 'orders.py', old_str, new_str, why: 'odd\n' })
  const edits = [edit('rate=2', 'rate=3\u202e'), edit('* rate', '* 2')]
  const call = client.call({ tool: 'propose_file_edit', args: { edits } })
  await until(() => waits().length === 1, 'the plan')
  assert.equal(waits(), ['1 plan waits!'])
  assert.match(rows(), /"shown":"Edit orders\.py[^"]*, asked by imago test[^"]*","waits":true/)
  const [row] = (await editor.request<Methods['approvals']['result']>('imago/approvals')).approvals
  const plan = await editor.request<{
    hash: string
    heading: readonly string[]
    hunks: readonly { head: string }[]
  }>('imago/plan', { plan: row?.id, shown: true })
  assert.is(plan.hash, row?.hash)
  assert.match(
    plan.heading.join('\n'),
    /^! A character that does not show, U\+202E.*\nEdit orders\.py.*\n {2}propose_file_edit, asked by imago test.*\n {2}plan-\w+: \d+ lines, \d+ bytes, sha256 \w+\n/,
  )
  assert.not.match(plan.heading.join('\n'), 'rate=3')
  assert.equal(
    plan.hunks.map(({ head }) => head),
    ['hunk 1 of 2 · orders.py:1: odd\\n', 'hunk 2 of 2 · orders.py:2: odd\\n'],
  )
  const places = () =>
    told<{ places: readonly { line: number }[] }>('imago/places').map(one =>
      one.places.map(({ line }) => line),
    )
  await until(() => places().length === 1, 'its places')
  assert.equal(places(), [[1, 2]])
  const other = await openSeatTerminal(rig)
  void other.says('sit').catch(() => {})
  await until(() => waits().length === 2, 'who wants a seat')
  assert.match(rows(), /"shown":"terminal [^"]* wants a seat, started with [^"]*","waits":true/)
  other.screen.close()
  await until(() => waits().length === 3, 'nobody to want a seat')
  const answer = { plan: row?.id, hash: plan.hash, decision: 'approve' }
  const wrong = await editor.request<{ shown?: string }>('imago/answer', { ...answer, hash: 'x' })
  assert.is(wrong.shown, 'The answer did not count: it was meant for another plan than the one that waits.')
  await editor.request('imago/answer', answer)
  assert.ok((await call).ok)
  await until(() => / It ended: ok\. To take it back: imago undo \w+/.test(rows()), 'its end')

  await until(() => places().length === 2, 'no place')
  assert.equal(places()[1], [])
  const undo = { tool: 'undo_change', follow: true }
  const undone = editor.request<{ ok: boolean }>('imago/call', undo)
  const asked = () => told<{ plan?: string }>('imago/event').flatMap(event => event.plan ?? [])
  await until(() => asked().length === 1, 'the plan of the undo')
  await until(() => waits().length === 5, 'it to wait')
  const [back] = (await editor.request<Methods['approvals']['result']>('imago/approvals')).approvals
  assert.equal(asked(), [back?.id])
  await editor.request('imago/answer', { plan: back?.id, hash: back?.hash, decision: 'approve' })
  assert.ok((await undone).ok)
  await editor.request('imago/call', { tool: 'undo_change', args: { change: '' } }).then(
    () => assert.unreachable(),
    ({ data }: { data?: { shown?: string } }) => assert.is(data?.shown, 'There is no change to take back.'),
  )
  const stops = { expr: '1 / 0', on_error: 'suspend' }
  await editor.request('imago/call', { tool: 'eval_expr', args: stops })
  await until(() => waits().length === 7, 'what is suspended')
  assert.match(rows(), /"shown":"s\S+, project: ZeroDivisionError: division by zero","waits":true/)
  assert.equal(waits(), [
    '1 plan waits!',
    '1 plan waits, 1 seat wanted',
    '1 plan waits',
    '',
    '1 plan waits',
    '',
    '1 suspended',
  ])
  await editor.close()
  await client.close()
})

test('wishes and arguments of another kind than is meant are refused in words, and the rest works', async () => {
  const wishes = { follow: ['approvals', 'nonsense'], sit: 'yes' } as never
  const editor = await openEditor(rig, { roots: [rig.project], initializationOptions: wishes })
  const call = { tool: 'eval_expr', args: { expr: 5 }, language: 'python', shown: true }
  const answer = await editor.request<{ error?: { code: string }; shown: string }>('imago/call', call)
  assert.is(answer.error?.code, 'invalid_args')
  assert.match(answer.shown, 'expr')
  const logged = () =>
    editor.heard.some(
      ({ method, params }) =>
        method === 'window/logMessage' && /nonsense|topics/.test(JSON.stringify(params)),
    )
  await until(logged, 'why nothing is followed')
  await editor.close()
})

test('the row of a plan that ended says in words which programs still run the text that it replaced', () => {
  const [why, notice] = ['plan-abcdefgh was approved.', 'web still runs what it loaded before.']
  const ended = { outcome: 'ok', undo: 'plan-abcdefgh', notice }
  const value = { state: 'ended', id: 'plan-abcdefgh', why, ended }
  const said = inWords({ rev: '1', changes: [{ topic: 'approvals', key: 'plan-abcdefgh', value }] } as never)
  assert.match(
    JSON.stringify(said),
    `${why} It ended: ok. ${notice} To take it back: imago undo plan-abcdefgh`,
  )
})
