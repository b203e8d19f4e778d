import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Entry } from '../../src/agent/entries.ts'
import { runNames } from '../../src/agent/run-file.ts'
import { assert, isLong, suite } from '../support/harness.ts'
import { random } from '../support/random.ts'
import { openRig, type Rig, until } from '../support/rig.ts'
import { openScriptedModel, type Script, type ScriptedModel } from '../support/scripted-model.ts'

/** A run whose process is killed, and that goes on: what it did is done once. */
const test = suite('killed run', { limitMs: 2_000_000 })

let server: ScriptedModel
let rig: Rig
test.before(async () => {
  server = await openScriptedModel()
  rig = openRig({ config: `[agent]\nurl = "${server.url}"\nmodel = "scripted"\nprofile = "core"\n` })
  assert.is((await rig.imago(['eval', 'made = []'])).code, 0)
})
test.after(async () => {
  await rig.close()
  await server.close()
})

const pathOf = (run: string) => join(rig.paths.stateDir, 'runs', `${run}.jsonl`)

function entriesOf(run: string): Entry[] {
  try {
    return readFileSync(pathOf(run), 'utf8')
      .split('\n')
      .slice(0, -1)
      .map(line => JSON.parse(line))
  } catch {
    return []
  }
}

/** Looks, does two things in one step, then a third, and tells what it has read of them. */
const scriptOf =
  (seed: number): Script =>
  ({ results }) => {
    const does = (what: string) => ({
      tool: 'eval_expr',
      args: { expr: `made.append("<${seed}-${what}>"); __import__("time").sleep(0.02); len(made)` },
    })
    const [looked, first, second, third] = results
    if (looked === undefined) return { text: 'I look.', calls: [{ tool: 'inspect', args: { expr: 'made' } }] }
    if (first === undefined || second === undefined) return { calls: [does('a'), does('b')] }
    if (third === undefined) return { calls: [does('c')] }
    return { text: `Unknown: ${[first, second, third].map(text => /outcome_unknown/.test(text)).join(' ')}` }
  }

/** The entries of such a run that is not killed; what comes after one of them is where a kill falls. */
const ENTRIES = 17

/** How many runs are killed, each somewhere else: once after each entry, or often. */
const SEEDS = isLong ? 1_000 : ENTRIES - 1

/** What was made since the last time. */
const TAKEN = '[made.pop() for _ in range(len(made))]'

test('killed after any entry, or a moment later, it goes on to its end, and each effect is there once or is told as unknown', async () => {
  const client = await rig.connect()
  for (let seed = 1; seed <= SEEDS; seed++) {
    const at = ((seed - 1) % (ENTRIES - 1)) + 1
    const drawn = random(seed)
    server.play(scriptOf(seed))
    const run = `run-${seed}`
    const asked = rig.begin(['ask', `seed ${seed}`])
    await until(() => entriesOf(run).length >= at || asked.child.exitCode !== null, `entry ${at} of ${run}`)
    for (let turns = drawn.below(4) * 5; turns > 0; turns--)
      await new Promise(resolve => setTimeout(resolve, 1))
    asked.child.kill('SIGKILL')
    await asked.ended
    const resumed = await rig.imago(['runs', 'resume', run])
    assert.is(resumed.code, 0, `seed ${seed}: ${resumed.stdout}${resumed.stderr}`)
    const over = entriesOf(run).at(-1)
    const said = over?.type === 'over' ? over.text : ''
    const answer = await client.call({ tool: 'eval_expr', args: { expr: TAKEN } })
    const made = answer.ok ? String(Reflect.get(Object(answer.result), 'value_repr')) : ''
    const unknown = /Unknown: (.*)/.exec(said)?.[1]?.split(' ') ?? []
    for (const [index, what] of ['a', 'b', 'c'].entries()) {
      const times = made.split(`<${seed}-${what}>`).length - 1
      const isUnknown = unknown[index] === 'true'
      assert.ok(times === 1 || (times === 0 && isUnknown), `seed ${seed}: ${what} ${times} times, ${said}`)
    }
    assert.is(new Set(entriesOf(run).flatMap(entry => (entry.type === 'ended' ? [entry.call] : []))).size, 4)
  }
})

test('killed in a call whose daemon ends, too: the model is told that nobody knows, and it is not made again', async () => {
  server.play(({ results }) =>
    results.length === 0
      ? {
          calls: [
            {
              tool: 'eval_expr',
              args: {
                expr: 'made.append("last"); open("ran", "a").write("x"); __import__("time").sleep(600)',
              },
            },
          ],
        }
      : { text: /outcome_unknown/.test(results[0] ?? '') ? 'Nobody knows.' : `It says ${results[0]}` },
  )
  const asked = rig.begin(['ask', 'do it'])
  const ran = () => {
    try {
      return readFileSync(join(rig.project, 'ran'), 'utf8')
    } catch {
      return ''
    }
  }
  await until(() => ran() === 'x', 'the call to run')
  asked.child.kill('SIGKILL')
  await asked.ended
  const client = await rig.connect()
  process.kill(client.daemon.pid, 'SIGKILL')
  await client.ended
  const [run = ''] = runNames(rig.paths.stateDir)
  const resumed = await rig.imago(['runs', 'resume', run])
  assert.equal([resumed.code, resumed.stdout], [0, 'Nobody knows.\n'])
  assert.is(ran(), 'x')
})

test('where the daemon ends in a call, the run stops and says how to go on; then the model is told that nobody knows', async () => {
  await rig.imago(['eval', 'made = []'])
  server.play(({ results }) =>
    results.length === 0
      ? {
          calls: [
            {
              tool: 'eval_expr',
              args: { expr: 'open("begun", "a").write("x"); __import__("time").sleep(600)' },
            },
          ],
        }
      : { text: /outcome_unknown/.test(results[0] ?? '') ? 'Nobody knows.' : `It says ${results[0]}` },
  )
  const asked = rig.begin(['ask', 'do it'])
  await until(() => existsSync(join(rig.project, 'begun')), 'the call to run')
  const client = await rig.connect()
  process.kill(client.daemon.pid, 'SIGKILL')
  await client.ended
  const ended = await asked.ended
  const [run = ''] = runNames(rig.paths.stateDir)
  assert.is(ended.code, 1)
  assert.match(ended.stderr, new RegExp(`Go on with: imago runs resume ${run}`))
  const resumed = await rig.imago(['runs', 'resume', run])
  assert.equal([resumed.code, resumed.stdout], [0, 'Nobody knows.\n'])
})
