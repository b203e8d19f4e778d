import { openFiles } from '../../src/core/files.ts'
import { cameTo } from './files-rig.ts'

/** A process that may write no large files, and says on its standard output what becomes of two changes. */
const [top = ''] = process.argv.slice(2)
const stateDir = `${top}/state`
const files = openFiles({ protected: [stateDir], stateDir })
const project = files.of(`${top}/project`)

async function change(text: string): Promise<string> {
  const seen = await project.look('a.py')
  if (seen.type === 'failed') return seen.error.message
  const planned = project.changed(seen, text)
  if ('type' in planned) return planned.error.message
  const answer = await files.commit({ change: `plan-${text.length}`, changes: [planned] })
  const errno = answer.type === 'failed' ? ` ${String(answer.error.details.errno)}` : ''
  return `${cameTo(answer)}${errno}`
}

async function held(): Promise<string> {
  const seen = await project.look('a.py')
  return seen.type === 'seen' ? String(seen.text) : seen.error.message
}

console.log(await change('x'.repeat(1_000_000)))
console.log(await held())
console.log(await change('small'))
console.log(await held())
