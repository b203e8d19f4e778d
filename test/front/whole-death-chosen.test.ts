import { dieAt } from '../support/deaths.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('the daemon is killed over what a person chose', { limitMs: 150_000 })

const [OLD, NEW] = ['one\ntwo\nthree\n', 'one\n2\nthree\n']
const edit = (path: string) => ({ path, old_str: 'two', new_str: '2' })

/** Each death costs two daemons: every third step is enough, where all of them are tried for an edit. */
const STRIDE = 3

test('a daemon killed while a person’s choice is carried out has done that or nothing, and the next one nothing more (fault 7)', async () => {
  const answers: Record<string, number> = {}
  const wrong: string[] = []
  let deaths = 0
  for (let step = 1, alive = false; !alive; step += STRIDE) {
    const one = await dieAt(step, {
      tool: 'propose_file_edit',
      args: { edits: [edit('a.txt'), edit('b.txt')] },
      kind: 'change',
      prepare(ground) {
        for (const name of ['a.txt', 'b.txt']) ground.put(name, OLD)
      },
      timesDone(ground) {
        const [text, other] = [ground.text('a.txt'), ground.text('b.txt')]
        if ((text !== OLD && text !== NEW) || other !== OLD) throw new Error(`they hold ${text} and ${other}`)
        return text === NEW ? 1 : 0
      },
    })
    alive = !one.died
    if (one.died) deaths++
    answers[one.said] = (answers[one.said] ?? 0) + 1
    wrong.push(...one.wrong.map(each => `death at ${step}: ${each}`))
  }
  console.log(`a choice: ${deaths} deaths, then answered with ${JSON.stringify(answers)}`)
  assert.equal(wrong, [])
  assert.ok(deaths > 6)
})
