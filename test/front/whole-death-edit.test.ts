import { dieAtEveryStep } from '../support/deaths.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('the daemon is killed during an edit', { limitMs: 150_000 })

const [OLD, NEW] = ['one\ntwo\nthree\n', 'one\n2\nthree\n']

test('a daemon killed at any step of an approved edit has done it or not, and the next one does not do it again (fault 7)', async () => {
  const { deaths, answers, wrong } = await dieAtEveryStep({
    tool: 'edit_file',
    args: { path: 'a.txt', old_str: 'two', new_str: '2' },
    kind: 'change',
    prepare: ground => ground.put('a.txt', OLD),
    timesDone(ground) {
      const text = ground.text('a.txt')
      if (text !== OLD && text !== NEW) throw new Error(`the file holds ${text}`)
      return text === NEW ? 1 : 0
    },
  })
  console.log(`an edit: ${deaths} deaths, then answered with ${JSON.stringify(answers)}`)
  assert.equal(wrong, [])
  assert.ok(deaths > 20)
})
