import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { PACKAGE_ROOT } from '../../src/paths.ts'
import { Differs, out, PATIENCE_MS, STEP_MS, type Step } from './steps.ts'

interface Asking {
  readonly again?: boolean
  /** What happens before the answer is shown. */
  readonly meanwhile?: () => Promise<void>
}

/** A model's program, which makes the calls that it is told to. */
export interface Model {
  /** Makes one call, shows what the model is shown, and compares; with `again`, until it is as expected. Throws `Differs`. */
  asks(step: Step, how?: Asking): Promise<string>
  leaves(): Promise<void>
}

/** A model whose server is started in this folder, with these variables and no others where some are given. */
export function openModel(
  project: string,
  { profile = 'full', env = process.env }: { profile?: string; env?: NodeJS.ProcessEnv } = {},
): Model {
  const dist = join(PACKAGE_ROOT, 'dist')
  const server = [process.execPath, join(dist, 'src/main.cjs'), 'mcp', '--profile', profile]
  const child = spawn(process.execPath, [join(dist, 'examples/demos/mcp-host.js'), ...server], {
    cwd: project,
    env,
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const ended = new Promise<void>(resolve => child.once('close', () => resolve()))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()

  async function called(tool: string, args: Step['args']): Promise<{ text: string; failed: boolean }> {
    child.stdin.write(`${JSON.stringify({ tool, args })}\n`)
    const { value, done } = await lines.next()
    if (done) throw new Differs('the program of the model has ended')
    return JSON.parse(value)
  }

  return {
    async asks({ says, tool, args, expects, ok = true }, { again = false, meanwhile } = {}) {
      out(`\n# ${says}\n> ${tool} ${JSON.stringify(args)}\n`)
      for (let waited = 0; ; waited += STEP_MS) {
        const [{ text, failed }] = await Promise.all([called(tool, args), meanwhile?.()])
        const missing = expects.filter(expected => !expected.test(text))
        const isGood = failed !== ok && missing.length === 0
        if (isGood || !again || waited > PATIENCE_MS) out(`${text}\n`)
        if (isGood) return text
        if (!again || waited > PATIENCE_MS)
          throw new Differs(
            `expected ${ok ? 'success' : 'a failure'} that shows ${missing.map(String).join(' and ')}`,
          )
        await sleep(STEP_MS)
      }
    },
    async leaves() {
      child.stdin.end()
      await ended
    },
  }
}
