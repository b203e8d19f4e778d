import { readdirSync } from 'node:fs'
import { attachedTo, pythonProgram } from '../support/real-kernels.ts'
import { SUSPENDING_PYTHON } from '../support/snippets-suspending.ts'
import { goneFacts, type Image } from './kernel-gone.ts'

goneFacts({ title: 'Python, attached', snippets: SUSPENDING_PYTHON, start })

async function start(): Promise<Image> {
  const program = await pythonProgram()
  return {
    task: { language: 'python', ...program },
    open: () => attachedTo(program),
    // They have no names there that tell one from another.
    threads: async () => readdirSync(`/proc/${program.pid}/task`).map(() => 'a thread'),
  }
}
