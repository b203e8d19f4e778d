import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { DaemonClient } from '../../src/front/client.ts'
import { type Person, seatPerson } from './person.ts'
import { Differs, out, type Step, take } from './steps.ts'

const FILE = 'demo-program.py'
const MISTAKE = '    x + 1'
const EDIT = { path: FILE, old_str: MISTAKE, new_str: '    return x + 1' }

const AGAIN: Step = {
  says: 'The image was mended, the file was not: a restart brings the mistake back.',
  tool: 'eval_expr',
  args: { expr: 'next(42)' },
  expects: [/^None$/m],
}

/** Until somebody sits down, nobody can be asked, and that is said. */
const UNASKED: Step = {
  says: 'So the file has to change. Nobody is there to be asked:',
  tool: 'edit_file',
  args: EDIT,
  expects: [/^approval_unavailable/, /decision = "allow"/, /tool = "edit_file"/],
  ok: false,
}

const ASKED: Step = {
  says: 'A person sits down at a terminal of their own (`imago watch`), and the same call is made again.',
  tool: 'edit_file',
  args: EDIT,
  expects: [/demo-program\.py/, /undo/],
}

const AFTERWARDS: readonly Step[] = [
  {
    says: 'What the file holds now is loaded into the image.',
    tool: 'load_file',
    args: { path: FILE },
    expects: [/./],
  },
  { says: 'And next(42)?', tool: 'eval_expr', args: { expr: 'next(42)' }, expects: [/^43$/m] },
]

/**
 * The second act: the fix as an edit of the file, which a person sees as a diff and approves; it is applied, loaded,
 * and taken back. Then the same edit again, while the file changes underneath.
 */
export async function playApproval(client: DaemonClient, project: string): Promise<void> {
  const [kernel] = (await client.request('kernels', {})).kernels
  await client.request('restart', { name: kernel?.name ?? '' })
  await take(client, AGAIN)
  await take(client, UNASKED)
  const person = seatPerson(project)
  try {
    await person.sees(/plans that need approval are shown here.*\n/)
    const undo = await approvedEdit(client, person)
    for (const step of AFTERWARDS) await take(client, step)
    await takenBack(client, person, undo)
    await stale(client, { person, file: join(project, FILE) })
  } finally {
    await person.leaves()
  }
}

/** The name under which it can be taken back. */
async function approvedEdit(client: DaemonClient, person: Person): Promise<string> {
  const [envelope] = await Promise.all([
    take(client, ASKED),
    approves(person, /\| - {4}x \+ 1\n\| \+ {4}return x \+ 1[\s\S]*Approve\?.*\[\?\] /),
  ])
  if (envelope.ok && typeof envelope.result === 'object' && envelope.result !== null)
    if ('undo' in envelope.result) return String(envelope.result.undo)
  throw new Differs('the answer does not say how the edit can be taken back')
}

async function takenBack(client: DaemonClient, person: Person, undo: string): Promise<void> {
  const step: Step = {
    says: 'What was approved can be taken back, which is asked as well.',
    tool: 'undo_change',
    args: { change: undo },
    expects: [/demo-program\.py/],
  }
  const shown = /\| - {4}return x \+ 1\n\| \+ {4}x \+ 1[\s\S]*Approve\?.*\[\?\] /
  await Promise.all([take(client, step), approves(person, shown)])
}

/** What is shown and what is there must be one; where they are not, nothing is written, and the reason is said. */
async function stale(
  client: DaemonClient,
  { person, file }: { person: Person; file: string },
): Promise<void> {
  const step: Step = {
    says: 'Once more the same edit; but before the person answers, somebody else saves the file.',
    tool: 'edit_file',
    args: EDIT,
    expects: [/^stale_plan/, /demo-program\.py was changed/],
    ok: false,
  }
  const theirs = `${readFileSync(file, 'utf8')}\nanswer = 42\n`
  const saved = async () => {
    await person.sees(/return x \+ 1[\s\S]*Approve\?.*\[\?\] /)
    writeFileSync(file, theirs)
    await person.sees(/was changed.*\n/)
  }
  await Promise.all([take(client, step), saved()])
  if (readFileSync(file, 'utf8') !== theirs) throw new Differs('the file of somebody else was written over')
  out('The file is as it was saved.\n')
}

async function approves(person: Person, shown: RegExp): Promise<void> {
  await person.sees(shown)
  person.types('y\n')
}
