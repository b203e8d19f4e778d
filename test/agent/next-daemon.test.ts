import { keptRun, runNames } from '../../src/agent/run-file.ts'
import { assert, suite } from '../support/harness.ts'
import { startProgram } from '../support/program.ts'
import { openRig, until } from '../support/rig.ts'
import { openScriptedModel } from '../support/scripted-model.ts'

const test = suite('imago ask --when, over lives of the daemon')

const SOURCE = `import threading
def fails(given):
    thread = threading.Thread(target=lambda: 900 // given, name='till')
    thread.start()
    thread.join()`

test('it waits at the next daemon where one is killed, and no longer where a person ends one', async () => {
  const server = await openScriptedModel(() => ({ text: 'I read it.' }))
  const rig = openRig({
    config: `[agent]\nurl = "${server.url}"\nmodel = "scripted"\n`,
    files: { 'pyproject.toml': '' },
  })
  const { project: folder, paths } = rig
  const program = await startProgram({ folder, runtimeDir: paths.runtimeDir, name: 'shop', source: SOURCE })
  try {
    const begun = rig.begin(['ask', '--when', 'shop raises', 'Find the cause.'])
    const woken = () =>
      runNames(paths.stateDir).map(run => {
        const { entries } = keptRun(paths.stateDir, run)
        return [entries[0]?.type === 'begun' && entries[0].woken, entries.at(-1)?.type]
      })
    const fails = async (given: string) => {
      await rig.imago(['kernels'])
      const client = await rig.connect()
      const call = { tool: 'eval_expr', args: { expr: `fails(${given})`, kernel: 'shop' } }
      await until(async () => (await client.call(call)).ok, 'the program to fail')
      return client
    }
    const zero = ['ZeroDivisionError: integer division or modulo by zero', 'over']
    const none = ["TypeError: unsupported operand type(s) for //: 'int' and 'NoneType'", 'over']

    await until(() => begun.so.stderr.includes('waiting for errors of shop'), 'it to wait')
    const client = await fails('0')
    await until(() => woken()[0]?.[1] === 'over', 'a run')
    process.kill(client.daemon.pid, 'SIGKILL')
    await client.ended
    await until(() => begun.so.stderr.includes('Another one goes on.'), 'it to wait again')
    await fails('None')
    await until(() => woken().length === 2 && woken()[0]?.[1] === 'over', 'another run')
    assert.equal(woken(), [none, zero])

    assert.is((await rig.imago(['shutdown', '--force'])).code, 0)
    const { code, stderr } = await begun.ended
    assert.is(code, 1)
    assert.match(stderr, /The daemon has ended\. To wait again: imago ask --when\n$/)
  } finally {
    program.signal('SIGKILL')
    await rig.close()
    await server.close()
  }
})
