import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { errorOf, resultOf } from '../support/calls-rig.ts'
import { assert, suite } from '../support/harness.ts'
import { type Ground, openGround, openWholePath } from '../support/whole-path.ts'

const test = suite('undoing with nobody to ask')

/** A file that one daemon changed with a person's leave; the next one has that policy, and nobody has a seat. */
async function changedUnder(ground: Ground, policy: string) {
  ground.put('a.txt', 'before')
  const first = openWholePath(ground)
  first.seat(() => 'approve')
  const { undo } = resultOf(await first.run('write_file', { path: 'a.txt', content: 'after' }))
  await first.close()
  writeFileSync(join(ground.folder, 'config', 'policy.toml'), policy)
  return { change: String(undo), whole: openWholePath(ground) }
}

function onGround(fact: string, body: (ground: Ground) => Promise<void>): void {
  test(fact, async () => {
    const ground = openGround()
    try {
      await body(ground)
    } finally {
      ground.remove()
    }
  })
}

const allow = (path: string) =>
  `[[rule]]\ndecision = "allow"\ntool = "undo_change"\npath = ${JSON.stringify(path)}\n`

onGround('a rule about a path allows taking back a change of that path', async ground => {
  const { whole, change } = await changedUnder(ground, allow('a.txt'))
  assert.is(resultOf(await whole.run('undo_change', { change })).undone, change)
  assert.is(ground.text('a.txt'), 'before')
  await whole.close()
})

onGround('a rule about another path does not, and the answer has the rule that does', async ground => {
  const { whole, change } = await changedUnder(ground, allow('b.txt'))
  const { code, message } = errorOf(await whole.run('undo_change', { change }))
  assert.is(code, 'approval_unavailable')
  assert.match(message, `tool = "undo_change"\nlevel = "dangerous"\npath = ${JSON.stringify(ground.project)}`)
  assert.is(ground.text('a.txt'), 'after')
  await whole.close()
  writeFileSync(join(ground.folder, 'config', 'policy.toml'), message.slice(message.indexOf('[[rule]]')))
  const next = openWholePath(ground)
  assert.is(resultOf(await next.run('undo_change', { change })).undone, change)
  assert.is(ground.text('a.txt'), 'before')
  await next.close()
})
