import { dieAtEveryStep } from '../support/deaths.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('the daemon is killed while it makes a file', { limitMs: 150_000 })

test('a daemon killed at any step of making an approved file has made it or not, and the next one does not make it again (fault 7)', async () => {
  const { deaths, answers, wrong } = await dieAtEveryStep({
    tool: 'write_file',
    args: { path: 'new.txt', content: 'new\n' },
    kind: 'change',
    prepare: () => undefined,
    timesDone(ground) {
      const text = ground.text('new.txt')
      if (text !== undefined && text !== 'new\n') throw new Error(`the file holds ${text}`)
      return text === undefined ? 0 : 1
    },
  })
  console.log(`a new file: ${deaths} deaths, then answered with ${JSON.stringify(answers)}`)
  assert.equal(wrong, [])
  assert.ok(deaths > 20)
})
