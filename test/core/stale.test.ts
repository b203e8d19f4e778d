import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { errorOf, type RigOptions, rigsOf, settled, toolAt } from '../support/calls-rig.ts'
import { PUT } from '../support/file-rigs.ts'
import { assert, suite } from '../support/harness.ts'
import { invariantsOf } from '../support/history.ts'
import { MemoryFiles, putTool, swapped } from '../support/memory-files.ts'

const test = suite('stale')
const open = rigsOf(test)

interface Stage extends RigOptions {
  at?(moment: string): void
  trouble?(): string | undefined
}

/**
 * A rig in which something can be done at any moment of a call: before and after each line of the journal, each step at
 * the files, and between a plan and its answer. `at` is called with the names of those moments, in order.
 */
function staged({ at = () => undefined, trouble, ...options }: Stage = {}) {
  const made: { files?: MemoryFiles } = {}
  const moments: string[] = []
  const moment = (name: string) => {
    moments.push(name)
    at(name)
  }
  const rig = open({
    tools: [putTool],
    projectFiles: root => {
      made.files = new MemoryFiles(root)
      made.files.put('a.txt', 'old')
      made.files.onStep = moment
      return made.files
    },
    journalAs: journal => ({
      write(entry) {
        moment(`before ${entry.type}`)
        journal.write(entry)
        moment(`after ${entry.type}`)
      },
      async sync(entry) {
        moment(`before ${entry.type} is on the disk`)
        await journal.sync(entry)
        moment(`after ${entry.type} is on the disk`)
      },
      get trouble() {
        return trouble?.()
      },
    }),
    ...options,
  })
  if (made.files === undefined) throw new Error('the rig made no files')
  rig.seat(() => {
    moment('while a person looks')
    return 'approve'
  })
  return { ...rig, files: made.files, moments }
}

/** The moments of one approved call, in order. */
async function momentsOf(options: RigOptions = {}, tool = 'put', args: object = PUT): Promise<string[]> {
  const { run, moments } = staged(options)
  assert.ok((await run(tool, args)).ok)
  return moments
}

test('there are moments between all that happens in an approved call', async () => {
  assert.equal(await momentsOf(), [
    'look',
    'before requested',
    'after requested',
    'while a person looks',
    'before decided is on the disk',
    'after decided is on the disk',
    'lock',
    'before dispatched is on the disk',
    'after dispatched is on the disk',
    'moved',
    'commit',
    'before ended',
    'after ended',
  ])
})

/** Does something at each moment in turn; `after` are the moments at which it comes too late to matter. */
async function atEach(
  moments: readonly string[],
  body: (number: number, moment: string) => Promise<void>,
): Promise<void> {
  for (const [number, moment] of moments.entries()) await body(number, moment)
}

test('a file that is changed at any moment before it is replaced is never written over (threat 18) (fault 28)', async () => {
  await atEach(await momentsOf(), async (number, moment) => {
    let passed = 0
    const rig = staged({
      at: () => {
        if (passed++ === number) rig.files.put('a.txt', 'theirs')
      },
    })
    const envelope = await rig.run('put', PUT)
    const late = moment.endsWith('ended')
    const early = moment === 'look'
    if (late || early) assert.ok(envelope.ok, moment)
    else {
      const error = errorOf(envelope)
      assert.equal([error.code, error.details.causes], ['stale_plan', ['a.txt was changed']], moment)
      assert.match(error.message, 'Nothing was changed')
      assert.match(JSON.stringify(error.details.preview), '-theirs', moment)
      assert.equal(rig.files.effects, [], moment)
    }
    assert.is(rig.files.text('a.txt'), early ? 'new' : 'theirs', moment)
    assert.is(rig.files.effects[0]?.text, early || late ? 'new' : undefined)
    assert.equal(invariantsOf(await rig.journal(), rig.files.effects), [], moment)
  })
})

test('a file that was changed and changed back is what was approved', async () => {
  const rig = staged({
    at: moment => {
      if (moment === 'before requested') rig.files.put('a.txt', 'theirs')
      if (moment === 'lock') rig.files.put('a.txt', 'old')
    },
  })
  assert.ok((await rig.run('put', PUT)).ok)
})

test('a stale plan is not asked about again by itself, and its approval is worth nothing afterwards (threat 19)', async () => {
  const rig = staged({
    at: moment => {
      if (moment === 'lock') rig.files.put('a.txt', 'theirs')
    },
  })
  assert.is(errorOf(await rig.run('put', PUT)).code, 'stale_plan')
  await settled()
  assert.is(rig.moments.filter(moment => moment === 'while a person looks').length, 1)
  rig.files.put('a.txt', 'old')
  rig.files.onStep = () => undefined
  await rig.clock.pass(60_000)
  assert.is(rig.files.text('a.txt'), 'old')
})

/** What can happen beside a call, from which of its moments on it counts, and what it comes to. */
interface Disturbance {
  readonly what: string
  readonly code: string
  readonly rig?: (state: { disturbed: boolean }) => Stage
  disturb?(rig: ReturnType<typeof staged>): void
  /** The first moment at which it can be noticed at all. */
  readonly from?: string
  /** The commit notices it too. */
}

const DISTURBANCES: readonly Disturbance[] = [
  {
    what: 'a deny that is written (threat 10)',
    code: 'denied',
    disturb: ({ folder }) =>
      writeFileSync(join(folder, 'policy.toml'), '[[rule]]\ndecision = "deny"\ntool = "put"\n'),
  },
  {
    what: 'a policy that cannot be read any more',
    code: 'denied',
    disturb: ({ folder }) => writeFileSync(join(folder, 'policy.toml'), 'nonsense'),
  },
  {
    what: 'a tool that is put in the place of another (threat 11)',
    code: 'stale_plan',
    rig: state => ({
      options: {
        registry: swapped(putTool, () => (state.disturbed ? { ...putTool, description: 'Puts.' } : putTool)),
      },
    }),
  },
  {
    what: 'trouble in the journal',
    code: 'denied',
    rig: state => ({
      trouble: () => (state.disturbed ? 'It is not what was written.' : undefined),
    }),
  },
  {
    what: 'an hour that only the wall clock saw (fault 25)',
    code: 'approval_timed_out',
    disturb: ({ wall }) => {
      wall.ahead = 3_600_000
    },
    from: 'while a person looks',
  },
]

for (const { what, code, rig: more, disturb, from = 'look' } of DISTURBANCES)
  test(`${what}, at whatever moment before the effect, stops it`, async () => {
    const moments = await momentsOf()
    const last = moments.lastIndexOf('moved')
    await atEach(moments, async (number, moment) => {
      const state = { disturbed: false }
      let passed = 0
      const at = () => {
        if (passed++ !== number) return
        state.disturbed = true
        disturb?.(rig)
      }
      const rig: ReturnType<typeof staged> = staged({ ...more?.(state), at })
      const envelope = await rig.run('put', PUT)
      if (number > last || number < moments.indexOf(from)) assert.ok(envelope.ok, moment)
      else {
        assert.is(errorOf(envelope).code, code, moment)
        assert.equal([rig.files.effects, rig.files.text('a.txt')], [[], 'old'], moment)
      }
      assert.equal(invariantsOf(await rig.journal(), rig.files.effects), [], moment)
    })
  })

test('the image that a plan was for is gone at whatever moment: the plan is void (fault 31)', async () => {
  const first = toolAt('dangerous')
  const moments = await momentsOf({ tools: [first.tool] }, 'do_dangerous', {})
  assert.is(moments.at(-3), 'after dispatched is on the disk')
  await atEach(moments, async (number, moment) => {
    const { tool, ran } = toolAt('dangerous')
    let passed = 0
    const rig: ReturnType<typeof staged> = staged({
      tools: [tool],
      at: () => {
        if (passed++ === number) rig.kernel.die()
      },
    })
    const envelope = await rig.run('do_dangerous')
    if (number > moments.length - 3) assert.ok(envelope.ok, moment)
    else {
      const error = errorOf(envelope)
      assert.is(error.code, 'stale_plan', moment)
      assert.match(error.message, 'the image of main has ended or was begun anew')
      assert.equal(ran, [], moment)
    }
    assert.equal(invariantsOf(await rig.journal(), []), [], moment)
  })
})
