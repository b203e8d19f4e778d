import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { CodeAction } from 'vscode-languageserver/node'
import type { PlanRow } from '../../src/front/protocol.ts'
import type { SubscriptionEvent } from '../../src/front/subscriptions.ts'
import { changesIn } from '../../src/front/topic-news.ts'
import { openEditor } from '../support/editor.ts'
import { assert, suite } from '../support/harness.ts'
import { openRig, until } from '../support/rig.ts'

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
  const ended = () =>
    editor.heard
      .filter(({ method }) => method === 'imago/rows')
      .flatMap(({ params }) => changesIn(params as SubscriptionEvent))
      .map(({ value }) => value as PlanRow | null)
      .find(row => row?.state === 'ended' && row.ended !== undefined)
  await until(() => ended() !== undefined, 'what came of it')
  const { undo } = (ended() as { ended: { undo: string } }).ended
  const undone = editor.request<{ ok: boolean }>('imago/call', {
    tool: 'undo_change',
    args: { change: undo },
  })
  await until(async () => {
    const { approvals } = await editor.request<{ approvals: { id: string; hash: string }[] }>(
      'imago/approvals',
    )
    const [plan] = approvals
    if (plan === undefined) return /rate=2/.test(readFileSync(file, 'utf8'))
    await editor.request('imago/answer', { plan: plan.id, hash: plan.hash, decision: 'approve' })
    return true
  }, 'the plan of the undo')
  assert.ok((await undone).ok)
  assert.is(readFileSync(file, 'utf8'), TEXT)
  await editor.close()
})
