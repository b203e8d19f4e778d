import type { DaemonClient } from '../../src/front/client.ts'
import { openRig, type Rig, until } from './rig.ts'
import { openScreen, type ScreenOf } from './screen.ts'

/** What a test at the console has. */
export interface ConsoleParts {
  readonly rig: Rig
  readonly screen: ScreenOf
  /** Enters a line, and waits until the prompt is that one. */
  enter(line: string, prompt?: string): Promise<void>
}

/** A daemon, and a console that has a seat. */
export async function atConsole(use: (parts: ConsoleParts) => Promise<void>) {
  const rig = openRig()
  let screen: ScreenOf | undefined
  try {
    await rig.serve()
    const shown = openScreen(rig, { columns: 100, rows: 60 })
    screen = shown
    await shown.shows(/^>>>/m)
    await until(async () => (await rig.imago(['approvals'])).stdout.includes('seat-1'), 'a seat')
    const prompts = () => shown.all().filter(row => /^(\[\d+\] )?>>>/.test(row)).length
    await use({
      rig,
      screen: shown,
      async enter(line, prompt = '>>>') {
        const before = prompts()
        shown.type(`${line}\r`)
        await until(
          () => prompts() > before && shown.rows().at(-1) === prompt,
          `${prompt} after ${line}: ${shown.text()}`,
        ).catch(error => {
          throw new Error(`${error.message}\n${shown.text()}`)
        })
      },
    })
  } finally {
    screen?.close()
    await rig.close()
  }
}

/** A model of another program, which has evaluated something that raised. */
export async function modelRaises(rig: Rig): Promise<{ readonly client: DaemonClient; readonly id: string }> {
  const client = await rig.connect({ name: 'claude-code', root: rig.folder })
  const args = { expr: 'stock = 0\n1 / stock', kernel: 'project' }
  const raised = await client.call({ tool: 'eval_expr', args })
  if (raised.ok) throw new Error('it did not raise')
  const { id } = raised.error.details.suspension as { readonly id: string }
  return { client, id }
}

/** How many evaluations are suspended in each kernel. */
export const suspendedNow = async (rig: Rig) => {
  const { kernels } = await (await rig.connect()).request('kernels', {})
  return kernels.map(({ suspended }) => suspended)
}
