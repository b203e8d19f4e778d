import { createHash } from 'node:crypto'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { addressOf, IMAGO, journalOf, openScene, textOf } from '../support/attacking.ts'
import { assert, suite } from '../support/harness.ts'
import { until } from '../support/rig.ts'

/**
 * Another program of the same user, which writes the journal, and what is kept to take changes back. What succeeds is a
 * test too, and docs/attacks.md names each of them.
 */
const test = suite('attacker, journal', { limitMs: 60_000 })
const scene = openScene()
const { project, paths } = scene.rig
const journal = join(paths.stateDir, 'journal/000001.jsonl')
const WRITE = JSON.stringify({ path: 'theirs.txt', content: 'theirs\n' })

test.before.each(async () => {
  rmSync(join(paths.stateDir, 'journal'), { recursive: true, force: true })
  await scene.begin()
  const calls = ['a.txt', 'b.txt', 'c.txt'].map(path => [
    'call',
    { tool: 'write_file', args: { path, content: 'x' } },
  ])
  await scene.intrudes('calls', ...addressOf(scene), JSON.stringify(calls))
  await until(
    () => journalOf(scene).filter(line => line.includes('write_file')).length === 3,
    'the three calls',
  )
})
test.after.each(() => scene.kill())
test.after(() => scene.close())

const verify = async () => (await scene.imago('log', 'verify')).code

test('a byte of the journal that is changed is found, and the next daemon refuses what is dangerous (threat 37)', async () => {
  assert.is(await verify(), 0)
  await scene.shell('sed -i s/write_file/write_fild/ "$1"', journal)
  assert.is(await verify(), 1)
  await scene.kill()
  await scene.begin()
  const person = await scene.sits()
  await person.screen.shows(/Dangerous calls are refused/)
  const refused = await scene.imago('call', 'write_file', WRITE)
  assert.match(refused.text, /The journal is not what was written/)
  assert.is(await verify(), 1)
  person.screen.close()
})

for (const [what, command] of [
  ['puts a copy in the place of the journal', 'cp "$1" "$1.new"; mv "$1.new" "$1"'],
  ['removes the journal', 'rm "$1"'],
  ['puts a link to a device in the place of the journal', 'ln -sf /dev/full "$1"'],
] as const)
  test(`an attacker who ${what} while a daemon runs is found out with the next call, and loses nothing after it (threat 37)`, async () => {
    await scene.shell(command, journal)
    await scene.imago('call', 'list_files', '{}')
    const next = journal.replace('1.jsonl', '2.jsonl')
    await until(() => existsSync(next) && readFileSync(next, 'utf8').includes('list_files'), 'the next file')
    const { code, text } = await scene.imago('log', 'verify')
    assert.is(code, 1)
    assert.match(text, /000001\.jsonl.*It (is|cannot)/)
    const log = await scene.imago('log')
    assert.is(log.code, 0, log.text)
    assert.match(log.text, 'list_files')
    const refused = await scene.imago('call', 'write_file', WRITE)
    assert.match(refused.text, /The journal is not what was written/)
  })

test('an attacker who puts a link to a device beside the journal hides no line of it, and the link is named (threat 37)', async () => {
  const link = journal.replace('01.jsonl', '99.jsonl')
  await scene.shell('ln -s /dev/full "$1"', link)
  for (const args of [[], ['--tool', 'write_file'], ['--json'], ['--count', '9']]) {
    const { code, text } = await scene.imago('log', ...args)
    assert.is(code, 0, text)
    assert.match(text, 'write_file')
    assert.match(
      text,
      /000099\.jsonl cannot be read, and is left out: .*not a regular file.*imago log verify/,
    )
  }
  const following = scene.lets([...IMAGO, 'log', '--follow'])
  await scene.imago('call', 'list_globals', '{}')
  await following.says('list_globals')
  const { code, text } = await scene.imago('log', 'verify')
  assert.is(code, 1)
  assert.match(text, `000099.jsonl: It cannot be read: ${link} is not a regular file`)
  assert.match(text, `Look at it:     ls -l '${link}'`)
})

test('an attacker who cuts off the end of the journal while no daemon runs succeeds: it is verified as whole', async () => {
  const before = journalOf(scene).length
  await scene.kill()
  await scene.shell('head -n 3 "$1" > "$1.new"; mv "$1.new" "$1"', journal)
  assert.is(await verify(), 0)
  await scene.begin()
  assert.ok(journalOf(scene).length < before)
  assert.is(await verify(), 0)
})

const REWRITTEN = `
import hashlib, json, sys
previous, lines = '0' * 32, []
for line in open(sys.argv[1], 'rb'):
    entry = json.loads(line)
    if entry['type'] == 'segment':
        previous = entry['previous']
    body = line[:line.rindex(b',"chain":"')].replace(b'write_file', b'list_files')
    previous = hashlib.sha256(previous.encode() + body).hexdigest()[:32]
    lines.append(body + b',"chain":"' + previous.encode() + b'"}\\n')
open(sys.argv[1], 'wb').write(b''.join(lines))
`

test('an attacker who writes the whole journal anew succeeds: it is verified as whole', async () => {
  await scene.kill()
  const { code, text } = await scene.runs(['python3', '-c', REWRITTEN, journal])
  assert.is(code, 0, text)
  assert.not.match(journalOf(scene).join('\n'), 'write_file')
  assert.is(await verify(), 0)
  await scene.begin()
  assert.is(await verify(), 0)
})

test('an attacker who removes the journal while no daemon runs succeeds: the next one begins another', async () => {
  await scene.kill()
  await scene.shell('rm -r "$1"', join(paths.stateDir, 'journal'))
  await scene.begin()
  assert.is(await verify(), 0)
})

test('what was kept for imago undo cannot be edited unseen: it is refused, or shown to the person (threat 18)', async () => {
  writeFileSync(join(project, 'notes.txt'), 'ours\n')
  const person = await scene.sits()
  const proposed = await scene.proposes('notes.txt')
  await person.approves(proposed)
  const { plan: change } = proposed
  const kept = join(paths.stateDir, 'undo')
  const record = join(kept, `${change}.json`)
  await scene.shell('printf "%s" evil > "$1"', join(kept, `${change}.0.before`))
  const refused = await scene.imago('undo', change)
  assert.is(refused.code, 1)
  assert.is(textOf(scene, 'notes.txt'), 'theirs\n')
  const [ours, evil] = ['ours\n', 'evil'].map(sha256)
  await scene.shell('sed -i "s/$2/$3/" "$1"', record, ours ?? '', evil ?? '')
  const going = scene.lets([...IMAGO, 'undo', change])
  await person.screen.shows(/\| \+evil[\s\S]*\[q\]uit \[\?\]$/)
  person.screen.type('n it is not ours\n')
  assert.is((await going.ended).code, 3)
  assert.is(textOf(scene, 'notes.txt'), 'theirs\n')
  person.screen.close()
})

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
