import { spawn } from 'node:child_process'
import { cpSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { connectDaemon, type DaemonClient } from '../../src/front/client.ts'
import { findPaths, type Paths } from '../../src/paths.ts'
import type { Envelope } from '../../tools/outcome.ts'
import type { CallId } from '../../wire/kernel.ts'
import { assert, isLong, suite } from '../support/harness.ts'
import type { Line } from '../support/history.ts'
import { inOneFile } from '../support/one-file.ts'
import { until, within } from '../support/rig.ts'
import { firstOnly } from '../support/seat.ts'
import { afterwards, type Ground, openGround, openWholePath } from '../support/whole-path.ts'
import { leftBehind } from '../support/whole-truth.ts'

const test = suite('a daemon that is killed', { limitMs: isLong ? 600_000 : 120_000 })

let daemon = ''
test.before(async () => {
  daemon = await inOneFile(join(import.meta.dirname, '../support/dying-daemon.ts'))
})

/** One life of a daemon in a process of its own. */
interface Life {
  /** Undefined once it has died before it answered. */
  call(call: string, tool: string, args: unknown): Promise<Envelope | undefined>
  /** As if by `kill -9`, unless it has died by itself. */
  kill(): Promise<'killed' | 'died'>
  readonly died: boolean
}

async function beginLife(ground: Ground, diesAt: number): Promise<Life> {
  const { project, folder } = ground
  const paths = pathsOf(ground)
  const { runtimeDir, stateDir, configDir, socket } = paths
  const { PATH, PYENV_ROOT } = process.env
  const env = { PATH, PYENV_ROOT, HOME: folder }
  const life = JSON.stringify({ runtimeDir, stateDir, configDir, socket, project, diesAt })
  const child = spawn(process.execPath, [daemon, life], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env,
  })
  let errors = ''
  let killed = false
  child.stderr.on('data', data => {
    errors += data
  })
  const over = new Promise<void>((resolve, reject) => {
    child.on('close', (code, signal) => {
      if (signal === 'SIGKILL') resolve()
      else reject(new Error(`the daemon ended with ${code} ${signal}\n${errors}`))
    })
  })
  over.catch(() => undefined)
  let client: DaemonClient | undefined
  const ready = new Promise<void>(resolve => child.stdout.once('data', () => resolve()))
  await within(Promise.race([ready, over]), `a daemon that dies at ${diesAt}`)
  const isOver = () => child.exitCode !== null || child.signalCode !== null
  if (!isOver())
    client = await connectDaemon({ name: 'imago test', start: 'never', root: project, env, paths }).catch(
      async error => {
        await within(over, `the death that ended a connection: ${error}`)
        return undefined
      },
    )
  return {
    get died() {
      return isOver() && !killed
    },
    async call(call, tool, args) {
      const answer = client?.call({ call, tool, args }).catch(async (error: unknown) => {
        await within(over, `the death that ended a call: ${error}`)
        return undefined
      })
      return answer && within(answer, `an answer to ${call}`)
    },
    async kill() {
      if (!isOver()) {
        killed = true
        child.kill('SIGKILL')
      }
      await within(over, 'the end of a daemon')
      await client?.close()
      return killed ? 'killed' : 'died'
    },
  }
}

function pathsOf({ folder, stateDir }: Ground): Paths {
  return findPaths({
    HOME: folder,
    IMAGO_RUNTIME_DIR: join(folder, 'run'),
    IMAGO_STATE_DIR: stateDir,
    IMAGO_CONFIG_DIR: join(folder, 'config'),
  })
}

/** What a caller asks of a daemon that dies, and again of the next one. */
interface Wanted {
  readonly tool: string
  readonly args: unknown
  prepare(ground: Ground): void
  /** How often it was done. Throws where it is neither done nor not. */
  timesDone(ground: Ground): number
  /** `evaluation`: its end is written a moment after the answer, and the next daemon here has no kernel to do it. */
  readonly kind: 'change' | 'evaluation'
  /** Ends the daemon from outside once this is so, whatever step it is at. */
  endsWhen?(ground: Ground): boolean
}

interface Died {
  readonly deaths: number
  /** What the second daemon answered, and how often. */
  readonly answers: Readonly<Record<string, number>>
  readonly wrong: readonly string[]
}

const CALL = 'the-call' as CallId

/** Daemons that die at steps of that stride, from the first on, until one gets by. Each has its own ground. */
async function dieAtSteps(
  wanted: Wanted,
  { first, stride }: { readonly first: number; readonly stride: number },
): Promise<Died> {
  const answers: Record<string, number> = {}
  const wrong: string[] = []
  let next = first
  let deaths = 0
  let survived = false
  const worker = async () => {
    while (!survived) {
      const step = next
      next += stride
      const one = await dieAt(step, wanted)
      if (one.died) deaths++
      else survived = true
      answers[one.said] = (answers[one.said] ?? 0) + 1
      wrong.push(...one.wrong.map(each => `death at ${step}: ${each}`))
    }
  }
  await Promise.all([worker(), worker()])
  return { deaths, answers, wrong }
}

/** One death, and what the daemon after it makes of the same call. */
async function dieAt(step: number, wanted: Wanted) {
  const { tool, args } = wanted
  const ground = openGround()
  try {
    wanted.prepare(ground)
    const life = await beginLife(ground, step)
    const answering = life.call(CALL, tool, args)
    if (wanted.endsWhen !== undefined)
      await until(() => life.died || wanted.endsWhen?.(ground) === true, 'the moment')
    const answer = wanted.endsWhen === undefined ? await answering : undefined
    if (answer !== undefined) await until(() => life.died || hasEnded(ground), 'the last line of the call')
    const died = (await life.kill()) === 'died'
    const known = await linesOf(ground)
    const before = wanted.timesDone(ground)
    const second = await asked(ground, wanted)
    const after = wanted.timesDone(ground)
    const { lines, problems } = await afterwards(ground)
    const wrong = [
      ...known.problems,
      ...problems,
      ...leftBehind(ground).map(name => `${name} was left behind`),
      ...wrongIn({ answer, second, known: known.lines, lines, before, after, kind: wanted.kind }),
    ]
    const { ok, ...rest } = second
    const said = 'error' in rest ? `${rest.error.code} (${rest.error.details.outcome})` : String(ok)
    return { died, said, wrong }
  } finally {
    ground.remove()
  }
}

/** The daemon after it, in this process, is asked for the same under the same name. */
async function asked(ground: Ground, { tool, args }: Wanted): Promise<Envelope> {
  const next = openWholePath(ground)
  next.seat(firstOnly)
  try {
    await next.files.tidied
    return await next.run(tool, args, { call: CALL })
  } finally {
    await next.close()
  }
}

/** Of a copy, so that the next daemon has to find all of it again. */
async function linesOf(ground: Ground) {
  const copy = join(ground.folder, 'copy')
  cpSync(ground.stateDir, copy, { recursive: true })
  return afterwards({ ...ground, stateDir: copy })
}

const ENDS = new Set(['ended', 'looked', 'refused'])

const TERMINAL = /"type":"(ended|looked|refused)"/

function hasEnded({ stateDir }: Ground): boolean {
  const text = readFileSync(join(stateDir, 'journal/000001.jsonl'), 'utf8')
  return text.split('\n').some(line => line.includes(CALL) && TERMINAL.test(line))
}

interface Came {
  /** Of the daemon that died, if it got so far, and of the next one. */
  readonly answer: Envelope | undefined
  readonly second: Envelope
  /** What the journal says when the next daemon has read it, and after that was asked. */
  readonly known: readonly Line[]
  readonly lines: readonly Line[]
  /** How often it was done, at the same two moments. */
  readonly before: number
  readonly after: number
  readonly kind: Wanted['kind']
}

function wrongIn(came: Came): string[] {
  const { answer, second, before, after, kind } = came
  const known = came.known.filter(({ call }) => call === CALL)
  const lines = came.lines.filter(({ call }) => call === CALL)
  const begun = (all: readonly Line[]) => all.filter(({ type }) => type === 'dispatched').length
  const ends = lines.filter(({ type }) => ENDS.has(String(type)))
  const end = known.findLast(({ type }) => ENDS.has(String(type)))?.outcome
  const told = second.ok ? 'ok' : second.error.details.outcome
  const code = second.ok ? 'ok' : second.error.code
  const isRight = code === (end === 'withdrawn' ? 'withdrawn' : 'outcome_unknown') && told === end
  const faults: readonly (readonly [boolean, string])[] = [
    [before > begun(known), 'it was done, and not dispatched'],
    [begun(lines) > 1, `it was dispatched ${begun(lines)} times`],
    [after > 1, `it was done ${after} times`],
    [ends.length !== 1, `it has ${ends.length} ends`],
    [answer?.ok === true && before !== 1, `it was answered, and was done ${before} times`],
    [answer?.ok === true && kind === 'change' && end !== 'ok', `it was answered, and ended: ${end}`],
    [end === 'ok' && before !== 1, 'the journal says that it was done, and it was not'],
    [end === 'withdrawn' && before !== 0, 'the journal says that it was withdrawn, and it was done'],
    [known.length > 0 && !['ok', 'withdrawn', 'outcome_unknown'].includes(String(end)), `it ended: ${end}`],
    [known.length > 0 && after !== before, 'it was done by the next daemon, which knew it'],
    [known.length > 0 && !isRight, `it was answered with ${code} (${told}), and ended: ${end}`],
    [known.length === 0 && !second.ok, 'nobody knew it, and it was not done'],
    [
      known.length === 0 && after !== (kind === 'change' ? 1 : 0),
      `nobody knew it, and it was done ${after} times`,
    ],
  ]
  return faults.flatMap(([isWrong, what]) => (isWrong ? [`${what}: ${JSON.stringify(lines)}`] : []))
}

const [OLD, NEW] = ['one\ntwo\nthree\n', 'one\n2\nthree\n']

const RUN = 'with open("ran.txt", "a") as ran: ran.write("x")'

const edit = (path: string) => ({ path, old_str: 'two', new_str: '2' })

/** Whether the file is old or new; throws where it is neither. */
function isNew(ground: Ground, name: string): boolean {
  const text = ground.text(name)
  if (text !== OLD && text !== NEW) throw new Error(`${name} holds ${text}`)
  return text === NEW
}

const EDITED: Wanted = {
  tool: 'edit_file',
  args: edit('a.txt'),
  kind: 'change',
  prepare: ground => ground.put('a.txt', OLD),
  timesDone: ground => (isNew(ground, 'a.txt') ? 1 : 0),
}

const MADE: Wanted = {
  tool: 'write_file',
  args: { path: 'new.txt', content: NEW },
  kind: 'change',
  prepare: () => undefined,
  timesDone: ground => (ground.text('new.txt') === undefined || !isNew(ground, 'new.txt') ? 0 : 1),
}

/** The person approves the first of two. */
const CHOSEN: Wanted = {
  tool: 'propose_file_edit',
  args: { edits: [edit('a.txt'), edit('b.txt')] },
  kind: 'change',
  prepare(ground) {
    for (const name of ['a.txt', 'b.txt']) ground.put(name, OLD)
  },
  timesDone(ground) {
    if (isNew(ground, 'b.txt')) throw new Error('what was not chosen was done')
    return isNew(ground, 'a.txt') ? 1 : 0
  },
}

const evaluated = (expr: string): Wanted => ({
  tool: 'eval_expr',
  args: { expr },
  kind: 'evaluation',
  prepare: () => undefined,
  timesDone: ground => ground.text('ran.txt')?.length ?? 0,
})

/**
 * Each death costs two daemons. The normal run has one in so many steps die; `core/files-killed` has every call die that
 * changes the disk, and `npm run test:long` has every step die here.
 */
const DEATHS: readonly (readonly [
  what: string,
  wanted: Wanted,
  first: number,
  stride: number,
  steps: number,
])[] = [
  ['an approved edit', EDITED, 1, 4, 20],
  ['making an approved file', MADE, 3, 4, 20],
  ['carrying out what a person chose', CHOSEN, 2, 8, 20],
  ['a cautious call', evaluated(RUN), 1, 2, 3],
]

for (const [what, wanted, first, stride, steps] of DEATHS)
  test(`killed at a step of ${what}, it has done it or not, and the next daemon does not do it again (fault 7)`, async () => {
    const share = isLong ? { first: 1, stride: 1 } : { first, stride }
    const { deaths, answers, wrong } = await dieAtSteps(wanted, share)
    console.log(`${what}: ${deaths} deaths, then answered with ${JSON.stringify(answers)}`)
    assert.equal(wrong, [])
    assert.ok(deaths * share.stride > steps)
  })

test('killed while code runs, it leaves a call of which nobody knows how it ended (fault 7)', async () => {
  const { said, wrong } = await dieAt(0, {
    ...evaluated(`${RUN}\nimport time\ntime.sleep(60)`),
    endsWhen: ground => ground.text('ran.txt') === 'x',
  })
  assert.equal([said, wrong], ['outcome_unknown (outcome_unknown)', []])
})
