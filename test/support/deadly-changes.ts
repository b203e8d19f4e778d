import { spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { LastChange } from './dying-commit.ts'
import { cameTo, FilesRig } from './files-rig.ts'
import { assert } from './harness.ts'

/** What a process changes that dies over it. A path that ends with `/` is of a folder, which is there or not. */
export interface DeathStory {
  readonly name: string
  begin(rig: FilesRig): Promise<void>
  readonly wanted: LastChange['wanted']
  readonly before: Readonly<Record<string, string | null>>
  readonly after: Readonly<Record<string, string | null>>
  /** The first call at which it is killed. Up to there, while it is kept what was there, one story is as another. */
  readonly from: number
}

const CHANGE = 'plan-last'
const DYING = join(import.meta.dirname, '../support/dying-commit.ts')

/** Kills such a process before each call that may change the disk, and looks at what the next daemon makes of it. */
export async function killedAtEachCall(
  story: DeathStory,
  check: (rig: FilesRig, told: string) => void = () => undefined,
): Promise<{ deaths: number; left: number }> {
  let [deaths, left] = [0, 0]
  let survived = false
  const worker = async (first: number) => {
    for (let diesAt = first; !survived; diesAt += 2) {
      const rig = new FilesRig()
      try {
        await story.begin(rig)
        if (await lived(rig, story, diesAt)) survived = true
        else deaths++
        if (rig.leftOver().length > 0) left++
        check(rig, `killed at ${diesAt}`)
        await checkNext(rig, story, `killed at ${diesAt}`)
      } finally {
        rig.close()
      }
    }
  }
  await Promise.all([worker(story.from), worker(story.from + 1)])
  return { deaths, left }
}

/** Whether a process of its own got through the change. */
export async function lived(
  rig: FilesRig,
  { wanted }: DeathStory,
  diesAt: LastChange['diesAt'],
): Promise<boolean> {
  const last: LastChange = { root: rig.root, state: rig.state, change: CHANGE, wanted, diesAt }
  const child = spawn(process.execPath, [...process.execArgv, DYING, JSON.stringify(last)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (data: Buffer) => {
      said += data.toString()
    })
  const signal = await new Promise(resolve => child.once('close', (_, by) => resolve(by)))
  if (signal !== 'SIGKILL') assert.is(said, 'committed')
  return signal !== 'SIGKILL'
}

/** What the next daemon makes of it. */
async function checkNext(rig: FilesRig, story: DeathStory, told: string): Promise<void> {
  const said: string[] = []
  const next = rig.open({ log: (sentence, error) => said.push(`${sentence} ${error}`) })
  await next.tidied
  assert.equal([rig.leftOver(), said], [[], []], told)
  const unfinished = join(rig.state, 'unfinished')
  assert.equal(existsSync(unfinished) ? readdirSync(unfinished) : [], [], told)
  const held = heldIn(rig, story)
  for (const [path, text] of Object.entries(held))
    assert.ok(text === story.before[path] || text === story.after[path], `${told}: ${path} holds ${text}`)
  if (Object.entries(held).every(([path, text]) => text === story.before[path])) return
  const back = await next.of(rig.root).undone(CHANGE)
  if (back.type === 'failed') throw new Error(`${told}: ${back.error.message}`)
  assert.is(cameTo(await next.commit({ change: 'plan-back', changes: back.changes })), 'committed', told)
  assert.equal(heldIn(rig, story), story.before, told)
}

const heldIn = (rig: FilesRig, story: DeathStory) =>
  Object.fromEntries(
    Object.keys(story.before).map(path => [path, existsSync(rig.at(path)) ? contentOf(rig, path) : null]),
  )

const contentOf = (rig: FilesRig, path: string) =>
  path.endsWith('/') ? 'a folder' : readFileSync(rig.at(path), 'utf8')
