import { spawnSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Envelope } from '../../tools/outcome.ts'
import { readAnnouncements } from '../../wire/kernels/programs.ts'
import {
  addressOf,
  codeOf,
  IMAGO,
  INTRUDER,
  openScene,
  type Person,
  type Proposed,
  PYTHON,
  textOf,
  UNPRIVILEGED,
} from '../support/attacking.ts'
import { assert, suite } from '../support/harness.ts'
import { endIfAlive, until } from '../support/rig.ts'
import { openScreen, type ScreenOf } from '../support/screen.ts'
import { noSeat } from '../support/watching.ts'

/**
 * Code that may run in a kernel or a program, and what it does with the terminal of the person and with the codes that
 * are shown there. What succeeds is a test too, and docs/attacks.md names each of them.
 */
const test = suite('attacker, with a terminal', { limitMs: 90_000 })
const scene = openScene()
const { project, folder, paths, env } = scene.rig
const parted = join(folder, 'out.txt')
/** It listens by itself, and waits. */
const LISTENS = 'import imago, threading\nimago.listen()\nopen("there", "w")\nthreading.Event().wait()\n'
/** It waits, and does not listen by itself. */
const WAITS = 'open("there", "w"); __import__("threading").Event().wait()'
test.before(async () => {
  await scene.begin()
  assert.is((await scene.imago('start', 'python', '--name', 'project')).code, 0)
  writeFileSync(join(project, 'web.py'), LISTENS)
})
test.after(() => scene.close())

/** What the code printed, evaluated there as a model has it done. */
async function evaluates(expr: string, kernel = 'project'): Promise<string> {
  const call = ['call', { tool: 'eval_expr', args: { expr, kernel } }]
  const [answer] = (await scene.intrudes('calls', ...addressOf(scene), JSON.stringify([call]))) as {
    readonly result: Envelope
  }[]
  const envelope = answer?.result
  if (envelope?.ok !== true) throw new Error(JSON.stringify(answer))
  return String((envelope.result as { output?: string }).output)
}

/** Code that runs a program, told where the daemon of its user is, and prints what came of it. */
const running = (...command: readonly string[]) =>
  [
    'import json, subprocess',
    `given = json.loads(${JSON.stringify(JSON.stringify({ command, env }))})`,
    'ran = subprocess.run(given["command"], env=given["env"], capture_output=True, text=True)',
    'print(ran.stdout + ran.stderr)',
  ].join('\n')

/** The programs that listen. */
const listening = () => readAnnouncements(paths.runtimeDir).programs.filter(one => one.process === 'lives')

/** Waits until a program of that name listens, and attaches to it. */
async function attaches(name: string): Promise<void> {
  await until(() => listening().some(one => one.name === name), `${name} to listen`)
  const { code, text } = await scene.imago('attach', name)
  assert.is(code, 0, text)
}

/** A program of that name runs, attached, as long as the work lasts. */
async function withProgram(
  name: string,
  {
    command,
    env = {},
  }: { readonly command: readonly string[]; readonly env?: Readonly<Record<string, string>> },
  work: () => Promise<void>,
): Promise<void> {
  scene.lets(command, { env })
  try {
    await attaches(name)
    await work()
  } finally {
    await endAll()
  }
}

/** All that listens. What is still attached is followed by the next one of its name. */
async function endAll(): Promise<void> {
  for (const { name } of listening()) await scene.imago('detach', name)
  for (const { pid } of listening()) endIfAlive(pid)
  await until(() => listening().length === 0, 'the programs to end')
  rmSync(join(project, 'there'), { force: true })
}

const WEB = { command: ['python3', 'web.py'], env: PYTHON }
const SHOP = { command: [...IMAGO, 'run', '--name', 'shop', '--', 'python3', '-c', WAITS] }

interface Watched {
  readonly person: Person
  readonly proposed: Proposed
  /** The code of its plan, as it was on the screen. */
  readonly code: string
}

/** Somebody sits, and has seen a plan with its code. It is withdrawn with the seat afterwards. */
async function whileWatched(work: (watched: Watched) => Promise<void>): Promise<void> {
  const person = await scene.sits()
  const proposed = await scene.proposes('theirs.txt')
  await person.asked(proposed.plan)
  const code = /--code ([0-9a-z-]{19})/.exec(person.screen.text())?.[1] ?? 'no code'
  try {
    await work({ person, proposed, code })
    assert.match((await scene.imago('approvals')).text, `${proposed.plan}  write_file`)
    assert.is(codeOf(await person.approves(proposed)), 'ok')
  } finally {
    rmSync(join(project, 'theirs.txt'), { force: true })
    person.screen.close()
    await noSeat(scene.rig)
  }
}

const approves = ({ proposed, code }: Watched) => [...IMAGO, 'approve', proposed.plan, '--code', code]

test('code in a kernel that has seen the code of a plan cannot give it, whatever it parts from (threat 5)', () =>
  whileWatched(async watched => {
    const said = await evaluates(running(...approves(watched)))
    assert.match(said, /The code was not looked at: Process \d+ was started from inside a kernel/)
    const lost = await evaluates(running(...INTRUDER, 'lost', parted, ...approves(watched)))
    assert.match(lost, /The code was not looked at: .* its limit on file locks shows it/)
    const { plan } = watched.proposed
    const calls = JSON.stringify([['approve', { plan, code: watched.code }]])
    const byHand = await evaluates(running(...INTRUDER, 'calls', ...addressOf(scene), calls))
    assert.match(byHand, /"code": "seat_refused"/)
    await watched.person.screen.shows(/gave a code for plan-\w+, which was not looked at/)
  }))

test('nothing that an attached program or the host of an MCP server starts can give the code of a plan (threat 5)', () =>
  withProgram('web', WEB, () =>
    whileWatched(async watched => {
      const said = await evaluates(running(...approves(watched)), 'web')
      assert.match(said, /not looked at: .* was started by web, a program that is attached/)
      const host = ['host', parted, 'pty', ...IMAGO, 'mcp', '--', ...approves(watched)]
      for (const one of (await scene.intrudes(...host)) as [string, string])
        assert.match(one, /not looked at: .*the host of an MCP server/)
    }),
  ))

test('code in a program of imago run that forks twice gets no seat, and can give no code (threat 5)', () =>
  withProgram('shop', SHOP, async () => {
    const said = await evaluates(running(...INTRUDER, 'lost', parted, ...IMAGO, 'watch'), 'shop')
    assert.match(said, /No seat: .* a program of imago run: its limit on file locks shows it/)
    await whileWatched(async watched => {
      const lost = await evaluates(running(...INTRUDER, 'lost', parted, ...approves(watched)), 'shop')
      assert.match(lost, /not looked at: .* a program of imago run/)
    })
  }))

test('an attacker in a program that listens by itself succeeds in taking a seat if it forks twice while nobody sits', () =>
  withProgram('web', WEB, async () => {
    const said = await evaluates(running(...INTRUDER, 'lost', parted, ...IMAGO, 'watch'), 'web')
    assert.match(said, /seat-\d+, terminal/)
    await noSeat(scene.rig)
  }))

/** A terminal of the person's, with a program in its background that is given up afterwards. */
async function sharing(program: string, work: (screen: ScreenOf) => Promise<void>): Promise<void> {
  const script = `${program} & until [ -e there ]; do sleep 0.05; done; exec "$@"`
  const watch = ['sh', '-c', script, 'sh', ...IMAGO, 'watch', '--plain']
  const command = [...UNPRIVILEGED, ...watch]
  const screen = openScreen(scene.rig, { columns: 200, rows: 60, command, env: PYTHON })
  try {
    await work(screen)
  } finally {
    screen.close()
    await endAll()
    await noSeat(scene.rig)
  }
}

const RUN = `${IMAGO.join(' ')} run --name shop -- python3 -c '${WAITS}'`

test('nobody gets a seat at a terminal that a program of imago run is at too, which could type there (threat 31)', () =>
  sharing(RUN, async screen => {
    await screen.shows(
      /No seat: Process \d+ \(\S+\), .*imago run, is at this terminal too, and may type there/,
    )
    await screen.shows(/Open another terminal.*setsid imago run/)
  }))

test('a program of imago run that has no terminal to type at keeps nobody from a seat', () =>
  sharing(`setsid ${RUN}`, screen => screen.shows(/seat-\d+, terminal/)))

test('an attached program that types at the terminal that it shares with a seat ends that seat, and answers nothing (threat 31)', () =>
  // Nobody knows of it before it is attached, and then a person sits there already and is asked.
  sharing('python3 web.py', async screen => {
    await screen.shows(/seat-\d+, terminal/)
    const { plan, answer } = await scene.proposes('theirs.txt')
    await screen.shows(new RegExp(`==== end of ${plan},[\\s\\S]*\\[q\\]uit \\[\\?\\]$`))
    await attaches('web')
    const said = await evaluates(TYPES, 'web')
    // Newer kernels can refuse it, and then it is looked at when the person answers.
    if (said.startsWith('refused')) screen.type('y\n')
    await screen.shows(/web, a program that is attached, is at this terminal too, and may type there/)
    assert.is(textOf(scene, 'theirs.txt'), undefined)
    const person = await scene.sits()
    assert.is(codeOf(await person.denies({ plan, answer })), 'denied')
    person.screen.close()
  }))

const TYPES = [
  'import fcntl, os, termios',
  "terminal = os.open('/dev/tty', os.O_RDWR)",
  'try:',
  "    for letter in b'y\\n': fcntl.ioctl(terminal, termios.TIOCSTI, bytes([letter]))",
  'except OSError as error:',
  "    print('refused', error)",
].join('\n')

const socket = join(folder, 'tmux')
const tmux = (...args: readonly string[]) => ['tmux', '-S', socket, '-f', '/dev/null', ...args]

/** Somebody sits in tmux, and is asked. The attack approves. */
async function inTmux(attack: (asked: { plan: string; code: string }) => Promise<unknown>): Promise<void> {
  const watch = [...IMAGO, 'watch', '--plain'].join(' ')
  const { code: begun, text: why } = await scene.runs(
    tmux('new-session', '-d', '-x', '200', '-y', '60', watch),
  )
  assert.is(begun, 0, why)
  const screen = async () => (await scene.runs(tmux('capture-pane', '-p', '-J', '-S', '-200'))).text
  try {
    await until(async () => /seat-\d+, terminal/.test(await screen()), 'a seat in tmux')
    assert.match(
      await screen(),
      'This terminal is in tmux: any program of yours that can drive tmux can answer here.',
    )
    const { plan, answer } = await scene.proposes('theirs.txt')
    let seen = ''
    const asked = async () => {
      seen = await screen()
      return new RegExp(`==== end of ${plan},[\\s\\S]*\\[q\\]uit \\[\\?\\]\\s*$`).test(seen)
    }
    await until(asked, 'the question')
    const code = new RegExp(`${plan} --code ([0-9a-z-]{19})`).exec(seen)?.[1] ?? `no code: ${seen}`
    await attack({ plan, code })
    assert.is(codeOf(await answer), 'ok')
    assert.is(textOf(scene, 'theirs.txt'), 'theirs\n')
  } finally {
    await scene.runs(tmux('kill-server'))
    await noSeat(scene.rig)
    rmSync(join(project, 'theirs.txt'), { force: true })
  }
}

const NO_TMUX = 'tmux is not installed'
if (spawnSync('tmux', ['-V']).status !== 0) {
  test.skip('an attacker in a kernel who drives the multiplexer of the person', NO_TMUX)
} else {
  test('an attacker in a kernel who drives the multiplexer of the person succeeds: it types their yes', () =>
    inTmux(() => evaluates(running(...tmux('send-keys', 'y', 'Enter')))))

  test('an attacker in a kernel who has the multiplexer of the person give the code that is shown there succeeds', () =>
    inTmux(({ plan, code }) =>
      evaluates(running(...tmux('run-shell', [...IMAGO, 'approve', plan, '--code', code].join(' ')))),
    ))

  test('an attacker in a kernel who takes the master of the terminal of the person succeeds: it types their yes', () =>
    inTmux(async () => {
      const said = await evaluates(
        [
          running(...tmux('display-message', '-p', '#{pid}')),
          'import ctypes, os',
          'server = int(ran.stdout)',
          'pidfd = os.pidfd_open(server)',
          "held = [fd for fd in os.listdir(f'/proc/{server}/fd') if 'ptmx' in os.path.realpath(f'/proc/{server}/fd/{fd}')]",
          // pidfd_getfd has this number on every Linux.
          'masters = [ctypes.CDLL(None, use_errno=True).syscall(438, pidfd, int(fd), 0) for fd in held]',
          "print([os.write(master, b'y\\n') for master in masters if master >= 0])",
          // Held, it would keep the terminal from ending.
          'for master in masters: os.close(master)',
        ].join('\n'),
      )
      assert.match(said, '[2]')
    }))
}
