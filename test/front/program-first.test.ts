import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { assert, suite } from '../support/harness.ts'
import { startProgram } from '../support/program.ts'
import { openRig, until } from '../support/rig.ts'
import { venvPython } from '../support/runtimes.ts'
import { TABLE, WEB } from '../support/shown-programs.ts'

/** What a model reads of real programs, and what that costs it in tokens. */
const test = suite('the program comes first', { limitMs: 90_000 })

async function withProgram(
  source: string,
  body: (said: (tool: string, args?: object) => Promise<string>) => Promise<void>,
): Promise<void> {
  const rig = openRig()
  writeFileSync(join(rig.project, 'prices_of_test.py'), 'def _rounded(price):\n    return round(price, 2)\n')
  const { runtimeDir } = rig.paths
  const program = await startProgram({
    folder: rig.project,
    runtimeDir,
    source: `${source}\nimport prices_of_test\ndel prices_of_test`,
    python: venvPython,
  })
  try {
    const joined = await rig.imago(['attach', 'web'])
    assert.is(joined.code, 0, joined.stderr)
    const said = async (tool: string, args: object = {}) =>
      (await rig.imago(['call', tool, JSON.stringify(args)])).stdout
    await body(said)
  } finally {
    program.signal('SIGKILL')
    await program.ended
    await rig.close()
  }
}

test('a table is its shape, its columns with types and its head, in at most 500 tokens', () =>
  withProgram(TABLE, async said => {
    const text = await said('inspect', { expr: 'orders' })
    assert.match(text, 'shape (1000, 5)')
    assert.match(text, /id int64, customer \w+, total float64, placed datetime64\S*, paid bool/)
    assert.match(text, /\n {2}0 +0 +'Ann' +1\.5/)
    const tokens = countTokens(text)
    assert.ok(tokens <= 500, `${tokens} tokens:\n${text}`)
    assert.match(await said('inspect', { expr: 'prices_of_test._rounded' }), 'return round(price, 2)')
  }))

test('the threads of a web program are its own frames with their locals, in at most 1,200 tokens', () =>
  withProgram(WEB, async said => {
    let text = ''
    await until(async () => {
      text = await said('threads')
      return text.includes('in reserve')
    }, 'a request that waits')
    assert.match(text, /in checkout\n/)
    assert.match(text, 'wanted = 14')
    assert.match(
      text,
      /… \d+ frames of .*starlette.* \(open: threads \{"all": true\}\)|… \d+ frames of .*anyio/,
    )
    assert.not.match(text, /"imago-|site-packages/)
    const tokens = countTokens(text)
    assert.ok(tokens <= 1_200, `${tokens} tokens:\n${text}`)
    assert.match(await said('threads', { all: true }), 'site-packages')
  }))
