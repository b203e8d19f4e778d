import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { VERSION } from '../../src/paths.ts'
import {
  addressOf,
  codeOf,
  IMAGO,
  INTRUDER,
  journalOf,
  openScene,
  type Scene,
  textOf,
} from '../support/attacking.ts'
import { assert, suite } from '../support/harness.ts'
import { until } from '../support/rig.ts'
import { openScreen } from '../support/screen.ts'
import { APPROVE } from '../support/watching.ts'

/**
 * Another program of the same user, against the processes themselves: the daemon, the seat, the socket between them,
 * and what starts them. What succeeds is a test too, and docs/attacks.md names each of them.
 */
const test = suite('attacker, processes', { limitMs: 60_000 })
const SUPPORT = join(import.meta.dirname, '../support')

async function withScene(use: (scene: Scene) => Promise<void>) {
  const scene = openScene()
  try {
    await use(scene)
  } finally {
    await scene.close()
  }
}

test('the signal by which Node opens its debugger opens none in the daemon, nor in a seat (threat 5)', () =>
  withScene(async scene => {
    const env = { NODE_OPTIONS: '--inspect-port=0' }
    const daemon = scene.lets([...IMAGO, 'serve'], { env })
    await daemon.says(/serves at/)
    const person = await scene.sits(env)
    const other = scene.lets([process.execPath, '-e', 'setInterval(() => {}, 1000); console.log("lives")'], {
      env,
    })
    await other.says('lives')
    await scene.shell('kill -USR1 "$@"', `${daemon.pid}`, `${person.pid}`, `${other.pid}`)
    await other.says('Debugger listening')
    const proposed = await scene.proposes('theirs.txt')
    assert.is(codeOf(await person.denies(proposed)), 'denied')
    assert.not.match(daemon.so.text, 'Debugger')
    assert.not.match(person.screen.written, 'Debugger')
  }))

test('a daemon that is killed takes what waits along, and the next one knows nothing of it (fault 7)', () =>
  withScene(async scene => {
    await scene.begin()
    const person = await scene.sits()
    const { plan } = await scene.proposes('theirs.txt')
    await person.asked(plan)
    const code = /--code (\S{19})/.exec(person.screen.text())?.[1] ?? ''
    await scene.kill()
    await person.screen.shows(/The seat is lost/)
    await scene.begin()
    const tried = await scene.imago('approve', plan, '--code', code)
    assert.match(tried.text, 'no plan of that name waits')
    assert.is(textOf(scene, 'theirs.txt'), undefined)
  }))

test('100 plans put before a person are no more than 8 of one caller, over however many connections (threat 36)', () =>
  withScene(async scene => {
    await scene.begin()
    const person = await scene.sits()
    const flooded = await scene.intrudes('flood', ...addressOf(scene), '100', '1')
    assert.equal(flooded, { waiting: 8, answered: Array(92).fill('busy') })
    // One after the other, whoever asks so often.
    await person.screen.shows(/^Approve\?/m)
    assert.is(person.screen.all().filter(row => row.startsWith('Approve?')).length, 1)
    assert.match(
      (await scene.imago('approvals')).text,
      person.screen.written.match(/plan-[a-z]{8}/)?.[0] ?? 'a plan',
    )
  }))

test('an attacker who may look into the memory of a seat succeeds: the code of the plan is in it', () =>
  withScene(async scene => {
    await scene.begin()
    const person = await scene.sits()
    const { plan, answer } = await scene.proposes('theirs.txt')
    await person.asked(plan)
    const read = (await scene.intrudes('memory', `${person.pid}`, `${plan} --code ([0-9a-z-]{19})`)) as
      | { found: string[] }
      | { refused: string }
    // Where the system lets no process look into another of its user, as kernel.yama.ptrace_scope has it.
    if ('refused' in read) {
      assert.match((await scene.imago('approvals')).text, plan)
      return
    }
    const [code = ''] = read.found
    assert.is((await scene.imago('approve', plan, '--code', code)).code, 0, JSON.stringify(read))
    assert.is(codeOf(await answer), 'ok')
    assert.is(textOf(scene, 'theirs.txt'), 'theirs\n')
    assert.match(journalOf(scene).join('\n'), `"answer":"approved","by":"code of ${plan}"`)
  }))

test('an attacker who puts a daemon of its own in the place succeeds in asking the person, about nothing that is real', () =>
  withScene(async scene => {
    await scene.begin()
    const { socket } = scene.rig.paths
    await scene.kill()
    rmSync(socket, { force: true })
    const fake = scene.lets([...INTRUDER, 'instead', socket, VERSION, 'harmless\n'])
    await fake.says('listens')
    const { screen } = await scene.sits()
    await screen.shows(APPROVE)
    assert.match(screen.text(), /Nothing much[\s\S]*\| harmless/)
    screen.type('y\n')
    await screen.shows(/plan-aaaaaaaa: approved/)
    assert.not.match(journalOf(scene).join('\n'), 'plan-aaaaaaaa')
    rmSync(socket, { force: true })
  }))

test('an attacker who stands between the person and the daemon succeeds: one plan is shown, and another approved', () =>
  withScene(async scene => {
    await scene.begin()
    const { socket, runtimeDir } = scene.rig.paths
    const hidden = join(runtimeDir, 'hidden')
    const between = scene.lets([...INTRUDER, 'between', socket, hidden, 'harmless\n'])
    await between.says('listens')
    const person = await scene.sits()
    const proposed = await scene.proposes('theirs.txt')
    assert.is(codeOf(await person.approves(proposed)), 'ok')
    assert.match(person.screen.text(), /Nothing much[\s\S]*\| harmless/)
    assert.not.match(person.screen.written, 'theirs')
    assert.is(textOf(scene, 'theirs.txt'), 'theirs\n')
    // The journal has what was carried out, and not what was shown.
    assert.match(journalOf(scene).join('\n'), `"plan":{"id":"${proposed.plan}"`)
    await scene.kill()
  }))

test('an attacker who starts the daemon with code of its own in it succeeds: any code is right', () =>
  withScene(async scene => {
    const evil = join(scene.rig.folder, 'evil.mjs')
    const lines = [
      "import crypto from 'node:crypto'",
      "import { syncBuiltinESMExports } from 'node:module'",
      'crypto.timingSafeEqual = () => true',
      'syncBuiltinESMExports()',
    ]
    writeFileSync(evil, lines.join('\n'))
    await scene.begin({ NODE_OPTIONS: `--import=${evil}` })
    const person = await scene.sits()
    const { plan, answer } = await scene.proposes('theirs.txt')
    await person.asked(plan)
    assert.is((await scene.imago('approve', plan, '--code', '0000-0000-0000-0000')).code, 0)
    assert.is(codeOf(await answer), 'ok')
    assert.is(textOf(scene, 'theirs.txt'), 'theirs\n')
  }))

test('an attacker whose imago comes first on the PATH of the person succeeds: it answers in their stead', () =>
  withScene(async scene => {
    await scene.begin()
    const bin = join(scene.rig.folder, 'bin')
    mkdirSync(bin)
    const steps = JSON.stringify([[APPROVE, 'y\n']])
    const words = ['python3', join(SUPPORT, 'terminal.py'), steps, ...IMAGO]
      .map(word => `'${word}'`)
      .join(' ')
    writeFileSync(join(bin, 'imago'), `#!/bin/sh\nexec ${words} "$@"\n`, { mode: 0o755 })
    const env = { PATH: `${bin}:${scene.rig.env.PATH}`, TERM: 'dumb' }
    const unprivileged = ['python3', join(SUPPORT, 'unprivileged.py')]
    const screen = openScreen(scene.rig, { env, command: [...unprivileged, 'imago', 'watch'] })
    await until(async () => /seat-\d+/.test((await scene.imago('approvals')).text), 'a seat')
    const { answer } = await scene.proposes('theirs.txt')
    assert.is(codeOf(await answer), 'ok')
    assert.is(textOf(scene, 'theirs.txt'), 'theirs\n')
    screen.close()
  }))

test('an attacker who does without Imago succeeds: it writes the file', () =>
  withScene(async scene => {
    await scene.shell('echo theirs > "$1"', join(scene.rig.project, 'theirs.txt'))
    assert.is(textOf(scene, 'theirs.txt'), 'theirs\n')
  }))
