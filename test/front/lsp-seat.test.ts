import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { CodeAction } from 'vscode-languageserver/node'
import type { Methods } from '../../src/front/protocol.ts'
import { openEditor } from '../support/editor.ts'
import { assert, suite } from '../support/harness.ts'
import { openRig, until } from '../support/rig.ts'

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
