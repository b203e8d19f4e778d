import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { DaemonClient } from '../../src/front/client.ts'
import { assert, suite } from '../support/harness.ts'
import { openRig } from '../support/rig.ts'
import { lispCache } from '../support/runtimes.ts'

/** A client says in its hello in which units it counts, and is spoken to in these. */
const test = suite('positions in UTF-16', { limitMs: 120_000 })

process.env.XDG_CACHE_HOME = lispCache
const rig = openRig()
let units: DaemonClient
let points: DaemonClient

test.before(async () => {
  await rig.serve()
  units = await rig.connect({ positions: 'utf-16' })
  points = await rig.connect()
  await rig.imago(['start', 'python', '--name', 'py'])
})
test.after(() => rig.close())

async function told(client: DaemonClient, tool: string, args: Readonly<Record<string, unknown>>) {
  const envelope = await client.call({ tool, args: { ...args, ...('kernel' in args && { patience: 60 }) } })
  return (envelope.ok ? envelope.result : envelope.error.details) as Record<string, unknown>
}

test('the cursor of complete, and the piece that it replaces, are counted in the units of the client', async () => {
  const text = '"𝒳𝒳" + le + 1'
  for (const [client, cursor, from] of [
    [units, 11, 9],
    [points, 9, 7],
  ] as const) {
    const completed = await told(client, 'complete', { kernel: 'py', text, cursor })
    assert.equal([completed.from, completed.to], [from, from + 2])
    assert.match(JSON.stringify(completed.completions), '"len"')
  }
  const whole = await told(units, 'complete', { kernel: 'py', text: '𝒳 + le' })
  assert.equal([whole.from, whole.to], [5, 7])
})

test('a cursor within a surrogate pair, or beyond the end, is refused in the units of the client', async () => {
  const within = units.call({ tool: 'complete', args: { text: '"𝒳" + le', cursor: 2 } })
  await within.then(
    () => assert.unreachable(),
    error => assert.match(String(error), 'in the middle of a surrogate pair'),
  )
  const beyond = units.call({ tool: 'complete', args: { text: '"𝒳"', cursor: 5 } })
  await beyond.then(
    () => assert.unreachable(),
    error => assert.match(String(error), 'the text has 4 units of UTF-16'),
  )
})

test('columns are counted so in what was sent, and in lines of files, also of those that are shown in part', async () => {
  const columns = async (tool: string, args: object, pick: (answer: Record<string, unknown>) => unknown) => [
    pick(await told(points, tool, { ...args })),
    pick(await told(units, tool, { ...args })),
  ]
  assert.equal(await columns('inspect', { kernel: 'py', expr: '"𝒳𝒳" (' }, one => one.column), [6, 8])
  const long = `${'𝒳'.repeat(3_000)} needle`
  writeFileSync(join(rig.project, 'found.txt'), `𝒳 needle\n${long}\n`)
  const found = (answer: Record<string, unknown>) =>
    [...JSON.stringify(answer).matchAll(/"column":(\d+)/g)].map(([, column]) => Number(column))
  const searched = await columns('search_files', { text: 'needle' }, found)
  assert.equal(searched, [
    [3, 3_002],
    [4, 6_002],
  ])
})

test('the columns of a compiler are those in the code that was sent, or in the file', async () => {
  await rig.imago(['start', 'lisp', '--name', 'cl'])
  const code = '(defun a ()\n  (progn (print "𝒳𝒳") (car 1)))\n'
  writeFileSync(join(rig.project, 'a.lisp'), code)
  const column = (answer: Record<string, unknown>) =>
    (answer.diagnostics as readonly { column: number | null }[] | undefined)?.[0]?.column
  const args = { kernel: 'cl', expr: code, file: 'a.lisp', line: 1 }
  const sent = [
    column(await told(points, 'compile_form', args)),
    column(await told(units, 'compile_form', args)),
  ]
  assert.equal(sent, [23, 25])
  const load = { kernel: 'cl', path: 'a.lisp' }
  const loaded = [column(await told(points, 'load_file', load)), column(await told(units, 'load_file', load))]
  assert.equal(loaded, sent)
})

test('a unit that is none is refused by its name', async () => {
  const wrong = rig.connect({ positions: 'utf-8' as 'utf-16' })
  await wrong.then(
    () => assert.unreachable(),
    error => assert.match(String(error), 'positions among the options'),
  )
})
