import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { makePlace } from '../support/bridge-process.ts'
import { assert, suite } from '../support/harness.ts'
import { CLIENTS } from '../support/mcp-clients.ts'
import { venvPython } from '../support/runtimes.ts'

const test = suite('mcp clients', { limitMs: 120_000 })
const place = makePlace()
test.after(() => place.clear())

const LIVE = [
  'list_globals',
  'inspect',
  'symbol_definition',
  'threads',
  'get_last_error',
  'eval_expr',
  'compile_form',
  'load_file',
  'reload',
  'debug_state',
  'debug_frame',
  'debug_eval',
  'debug_restart',
  'read_more',
  'job',
]
const SLOW = `import time
for step in range(40):
    print('step', step, flush=True)
    time.sleep(0.05)
'slept'`
const ENDLESS = `import time
print('begun', flush=True)
while True:
    time.sleep(0.02)`

for (const kind of CLIENTS) {
  test(`${kind.name}: a session of ${kind.revision}`, async () => {
    const client = await kind.connect(place)
    try {
      assert.is(client.revision, kind.revision)
      assert.match(client.instructions ?? '', /inspect/)
      assert.equal(await client.tools(), LIVE)

      const one = async (name: string, args: Readonly<Record<string, unknown>>) => {
        const { text, failed } = await client.call(name, args)
        assert.is(text.length, 1)
        return { text: text[0] ?? '', failed }
      }
      await one('eval_expr', { expr: "def greet(name):\n    return 'hello ' + name" })
      assert.match(
        (await one('eval_expr', { expr: 'print("said"); greet("you")' })).text,
        /^'hello you'.*said/s,
      )
      assert.match((await one('list_globals', {})).text, /greet/)
      assert.match(
        (await one('inspect', { expr: 'greet' })).text,
        /def greet\(name\):\n {4}return 'hello ' \+ name/,
      )

      const promised = await one('inspect', { expr: 'greet("you")' })
      assert.ok(promised.failed)
      assert.match(promised.text, /^needs_evaluation: .*eval_expr/s)
      const raised = await one('eval_expr', { expr: '1 / 0' })
      assert.ok(raised.failed)
      assert.match(raised.text, /^exception: ZeroDivisionError/)

      const long = (await one('eval_expr', { expr: "'x' * 100_000" })).text
      const handle = /read_more (@[\w.]+)/.exec(long)?.[1] ?? 'none was named'
      assert.match((await one('read_more', { handle })).text, /xxxx/)
      try {
        await client.call('eval_exp', { expr: '1' })
        assert.unreachable('an unknown tool was answered')
      } catch (error) {
        assert.match(String(error), /Unknown tool: eval_exp\. Did you mean eval_expr\?/)
      }
      assert.equal(client.faults, [])
    } finally {
      await client.close()
    }
  })

  test(`${kind.name}: a long call is followed, another is cancelled, a third becomes a job`, async () => {
    const client = await kind.connect(place)
    try {
      const news: { progress: number; message?: string | undefined }[] = []
      const ended: string[] = []
      const sleeping = client.call('eval_expr', { expr: SLOW }, { onprogress: one => news.push(one) })
      const looking = client.call('inspect', { expr: 'int' })
      await Promise.all([
        sleeping.then(() => ended.push('the call')),
        looking.then(() => ended.push('the look')),
      ])
      assert.equal(ended, ['the look', 'the call'])
      const slept = await sleeping
      assert.match(slept.text[0] ?? '', /^'slept'/)
      assert.ok(news.some(({ message }) => /: step \d+$/.test(message ?? '')))
      assert.ok(news.every(({ progress }, at) => at === 0 || progress > (news[at - 1]?.progress ?? 0)))

      const cancel = new AbortController()
      const onprogress = ({ message }: { message?: string | undefined }) => {
        if (message?.endsWith('begun')) cancel.abort()
      }
      const stopped = await client
        .call('eval_expr', { expr: ENDLESS }, { signal: cancel.signal, onprogress })
        .then(
          () => 'answered',
          () => 'given up',
        )
      assert.is(stopped, 'given up')
      assert.is((await client.call('eval_expr', { expr: '6 * 7' })).text[0], '42')

      const goesOn = (await client.call('eval_expr', { expr: SLOW, patience: 0.2 })).text[0] ?? ''
      const job = /^running: .*?\b(job-\d+)/s.exec(goesOn)?.[1] ?? 'none was named'
      const result = await client.call('job', { job, action: 'wait' })
      assert.match(result.text[0] ?? '', /^'slept'/)
      assert.equal(client.faults, [])
    } finally {
      await client.close()
    }
  })

  test(`${kind.name}: structured results fit the schema that was announced`, async () => {
    const client = await kind.connect(place, '--structured')
    try {
      await client.tools()
      const { text, structured } = await client.call('eval_expr', { expr: '40 + 2' })
      assert.equal(text, ['42'])
      const { ok, result } = structured as { ok: boolean; result: { value_repr: string } }
      assert.equal([ok, result.value_repr], [true, '42'])
      const raised = await client.call('eval_expr', { expr: '1 / 0' })
      assert.ok(raised.failed)
      assert.is((raised.structured as { error: { code: string } }).error.code, 'exception')
      assert.equal(client.faults, [])
    } finally {
      await client.close()
    }
  })

  test(`${kind.revision}: a call whose client goes away is found as a job by the next one (fault 32)`, async () => {
    const client = await kind.connect(place)
    const begun = new Promise<void>(resolve => {
      const onprogress = ({ message }: { message?: string | undefined }) => {
        if (message?.includes('step')) resolve()
      }
      client.call('eval_expr', { expr: SLOW }, { onprogress }).catch(() => {})
    })
    await begun
    await client.close()

    const next = await kind.connect(place)
    try {
      const known = (await next.call('job', { job: 'which' })).text[0] ?? ''
      const job = /job-\d+/.exec(known.slice(known.lastIndexOf('job-')))?.[0] ?? 'none is known'
      const ended = await next.call('job', { job, action: 'wait' })
      assert.match(ended.text[0] ?? '', /^'slept'/)
    } finally {
      await next.close()
    }
  })
}

for (const mode of ['auto', 'legacy'])
  test(`the Python package mcp 2.3.0, mode ${mode}: a session`, async () => {
    const script = join(import.meta.dirname, '../support/mcp_session.py')
    const child = spawn(venvPython, [script, mode, place.command, ...place.args()], {
      cwd: place.project,
      env: place.env,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const [out, problems] = await Promise.all([text(child.stdout), text(child.stderr)])
    assert.ok(out !== '', problems)
    const report = JSON.parse(out)
    assert.is(report.version, mode === 'auto' ? '2026-07-28' : '2025-11-25')
    assert.match(report.instructions, /inspect/)
    assert.equal(report.tools, LIVE)
    assert.match(report.globals.text[0], /greet/)
    assert.match(report.inspect.text[0], /def greet/)
    assert.match(report.promise.text[0], /^needs_evaluation: /)
    assert.equal([report.error.failed, report.error.text.length], [true, 1])
    assert.match(report.error.text[0], /^exception: ZeroDivisionError/)
    assert.is(report.long.failed, false)
    assert.is(report.unknown.code, -32602)
    assert.match(report.unknown.message, /Did you mean eval_expr\?/)
    assert.match(report.progress.text, /^'slept'/)
    assert.ok(report.progress.news.some(([, message]: [number, string]) => /: step \d+$/.test(message)))
    assert.match(report.job.text[0], /^unknown_job: /)
    assert.equal(report.after_cancel, { text: ['42'], failed: false })
  })
