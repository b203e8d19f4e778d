import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readConfig } from '../../src/config.ts'
import { type NotifierOptions, openNotifier } from '../../src/front/notify.ts'
import { assert, suite } from '../support/harness.ts'
import { until } from '../support/rig.ts'
import { asks, withWatch } from '../support/watching.ts'

const test = suite('notifications')

interface Stubbed {
  /** A notifier that finds the stub, and nothing else that shows anything. */
  open(options?: Partial<NotifierOptions>): ReturnType<typeof openNotifier>
  /** Where it stands. */
  readonly folder: string
  /** What the stub was run with, one list of arguments for each time. */
  shown(): string[][]
  readonly rung: number
  readonly failures: readonly string[]
}

/** A program of that name on a PATH of its own, which writes down its arguments and then does the rest. */
async function withStub(name: string, rest: string, use: (stub: Stubbed) => Promise<void>) {
  const folder = mkdtempSync(join(tmpdir(), 'imago-test-'))
  const said = join(folder, 'said')
  writeFileSync(
    join(folder, name),
    `#!/bin/sh\nline=$(printf '%s\\037' "$@")\nprintf '%s\\n' "$line" >> '${said}'\n${rest}\n`,
  )
  chmodSync(join(folder, name), 0o700)
  const failures: string[] = []
  let rung = 0
  try {
    await use({
      folder,
      open: options =>
        openNotifier({
          desktop: true,
          bell: () => rung++,
          failed: why => failures.push(why),
          env: { PATH: `${folder}:/usr/bin:/bin` },
          platform: 'linux',
          ...options,
        }),
      shown: () =>
        existsSync(said)
          ? readFileSync(said, 'utf8')
              .split('\n')
              .filter(line => line !== '')
              .map(line => line.split('\x1f').slice(0, -1))
          : [],
      get rung() {
        return rung
      },
      failures,
    })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

test('a person is rung for and notified, with the text as one argument', () =>
  withStub('notify-send', '', async stub => {
    stub.open().notify('1 plan waits: edit src/shop.py, for claude-code')
    await until(() => stub.shown().length === 1, 'a notification')
    const text = 'Imago: 1 plan waits: edit src/shop.py, for claude-code'
    assert.equal(stub.shown(), [['--app-name=Imago', '--', text]])
    assert.is(stub.rung, 1)
  }))

test('no text is a command, an option, markup or a second line of a notification (threat 14)', () =>
  withStub('notify-send', '', async stub => {
    const hostile = '$(touch /tmp/x)`id`; --icon=/etc/passwd\n"\x1b]0;y\x07 <b>y</b> \u202e'
    stub.open().notify(hostile)
    await until(() => stub.shown().length === 1, 'a notification')
    const [args = []] = stub.shown()
    // One argument behind the end of the options: the summary, which is plain text by its specification.
    assert.equal(args.slice(0, 2), ['--app-name=Imago', '--'])
    assert.is(args.length, 3)
    assert.match(args[2] ?? '', /^Imago: \$\(touch \/tmp\/x\)`id`; --icon=/)
    assert.not.match(args[2] ?? '', /\p{Cc}/u)
  }))

test('a long text is cut to a line', () =>
  withStub('notify-send', '', async stub => {
    stub.open().notify('x'.repeat(100_000))
    await until(() => stub.shown().length === 1, 'a notification')
    assert.is(stub.shown()[0]?.[2], `Imago: ${'x'.repeat(159)}…`)
  }))

test('on macOS the text is an argument of the script, and no part of it', () =>
  withStub('osascript', '', async stub => {
    stub.open({ platform: 'darwin' }).notify('1 plan waits: "x" & y')
    await until(() => stub.shown().length === 1, 'a notification')
    const [args = []] = stub.shown()
    assert.is(args.at(-1), '1 plan waits: "x" & y')
    assert.is(args.slice(0, -1).join(' ').includes('plan'), false)
  }))

test('who wants no notifications is only rung for, as the configuration says, and nobody does unless it says so', () =>
  withStub('notify-send', '', async stub => {
    const quiet = stub.open({ desktop: false })
    const other = stub.open()
    quiet.notify('quiet')
    other.notify('loud')
    await until(() => stub.shown().length === 1, 'a notification')
    assert.equal([stub.shown()[0]?.[2], stub.rung], ['Imago: loud', 2])
    const wants = (text: string) => {
      writeFileSync(join(stub.folder, 'config.toml'), text)
      return readConfig(stub.folder).watch.notify
    }
    assert.equal([wants(''), wants('[watch]\nnotify = true\n')], [false, true])
    assert.throws(() => wants('[watch]\nnotify = "yes"\n'), /watch\.notify/)
  }))

const FAILS: readonly (readonly [
  what: string,
  rest: string,
  why: RegExp,
  options?: Partial<NotifierOptions>,
])[] = [
  ['fails', 'exit 3', /notify-send ended with code 3\. What waits rings as before\.$/],
  ['is killed', 'kill -9 $$', /notify-send ended by SIGKILL\./],
  ['is missing', '', /notify-send cannot be run/, { env: { PATH: '/nowhere' } }],
  ['is not known', '', /nothing is known on aix/, { platform: 'aix' }],
]

for (const [what, rest, why, options] of FAILS)
  test(`that a program which shows notifications ${what} is said once by each, and ringing goes on`, () =>
    withStub('notify-send', rest, async stub => {
      const notifier = stub.open(options)
      notifier.notify('one')
      await until(() => stub.failures.length === 1, 'a failure')
      assert.match(stub.failures[0] ?? '', why)
      notifier.notify('two')
      if (rest !== '') await until(() => stub.shown().length === 2, 'another try')
      stub.open(options).notify('three')
      await until(() => stub.failures.length === 2, 'the failure of another one')
      assert.is(stub.rung, 3)
    }))

test('while one is being shown, what comes only rings', () =>
  withStub('notify-send', 'while [ ! -e "$(dirname "$0")/go" ]; do sleep 0.02; done', async stub => {
    const notifier = stub.open()
    for (let count = 0; count < 50; count++) notifier.notify(`plan ${count}`)
    await until(() => stub.shown().length === 1, 'a notification')
    assert.is(stub.rung, 50)
    assert.is(stub.shown().length, 1)
    writeFileSync(join(stub.folder, 'go'), '')
    await until(() => {
      notifier.notify('after it')
      // Each asks for one more, which can be there before this one is looked for.
      return stub.shown().length >= 2
    }, 'the next one')
  }))

test('imago watch rings line by line, too, once for what came together', async () => {
  await withWatch(async ({ rig, watch: { screen } }) => {
    const client = await rig.connect()
    const answers = ['1', '2'].map(expr => client.call({ tool: 'eval_expr', args: { expr } }))
    for (let answered = 1; answered <= 2; answered++) {
      await asks(screen, answered)
      screen.type('y\n')
    }
    for (const answer of await Promise.all(answers)) assert.ok(answer.ok)
    assert.is(screen.written.split('\x07').length - 1, 1)
  })
})
