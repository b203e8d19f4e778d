import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { connectDaemon, type DaemonClient } from '../../src/front/client.ts'
import { findPaths } from '../../src/paths.ts'
import { type PersonAtScreen, seatAtScreen } from './at-screen.ts'
import { Differs, out, type Step, take } from './steps.ts'

const FILES: Readonly<Record<string, string>> = {
  'shop/orders.py': `"""What an order costs."""

from shop.discounts import RATES


def total(prices, kind):
    return sum(prices) * RATES[kind]


def receipt(prices, kind):
    print('receipt for', kind)
    return f'{total(prices, kind):.2f} EUR'
`,
  'shop/discounts.py': `"""How much of the price is taken off."""

RATES = {
    'summer': 0.5,
    'winter': 0.2,
}
`,
}

/** Three hunks in two files, as a model proposes them. */
const PROPOSAL: Step = {
  says: 'A model proposes three hunks in two files, as one change.',
  tool: 'propose_file_edit',
  args: {
    edits: [
      {
        path: 'shop/orders.py',
        old_str: 'sum(prices) * RATES[kind]',
        new_str: 'sum(prices) * (1 - RATES[kind])',
        why: 'A rate of 0.2 takes a fifth off. It does not leave a fifth.',
      },
      {
        path: 'shop/orders.py',
        old_str: "    print('receipt for', kind)\n",
        new_str: '',
        why: 'Nothing should be printed here.',
      },
      {
        path: 'shop/discounts.py',
        old_str: "    'summer': 0.5,\n",
        new_str: "    'none': 0.0,\n    'summer': 0.5,\n",
        why: 'Orders without a discount fail.',
      },
    ],
  },
  expects: [
    /hunk 1[^\n]*applied/i,
    /hunk 2[^\n]*refused[^\n]*the cashier reads it/i,
    /hunk 3[\s\S]*regular/i,
  ],
}

/** What the files hold, and must not hold, once the person has decided. */
const CHOSEN: readonly (readonly [file: string, holds: string])[] = [
  ['shop/orders.py', 'sum(prices) * (1 - RATES[kind])'],
  ['shop/orders.py', "print('receipt for', kind)"],
  ['shop/discounts.py', "    'regular': 0.0,\n    'summer': 0.5,\n"],
]

const REASON = 'the cashier reads it'

/** What the person has for an editor: it calls the kind of an order by another name. */
const EDITOR = `#!/bin/sh
sed "s/'none'/'regular'/" "$1" > "$1.edited" && cat "$1.edited" > "$1" && rm "$1.edited"
`

/**
 * A model proposes, and a person at a screen decides of each hunk: one is accepted, one refused with a reason, one
 * edited. The model is told which and why, and what was done is undone as one.
 */
export async function playApprove(project: string): Promise<void> {
  for (const [name, text] of Object.entries(FILES)) {
    mkdirSync(dirname(join(project, name)), { recursive: true })
    writeFileSync(join(project, name), text)
  }
  const editor = join(project, '../editor.sh')
  writeFileSync(editor, EDITOR, { mode: 0o755 })
  const paths = findPaths()
  const client = await connectDaemon({ name: 'imago demo', start: 'if-needed', root: project, paths })
  const person = seatAtScreen(project, { editor })
  try {
    await person.sees(/seat-1/)
    const [envelope] = await Promise.all([take(client, PROPOSAL), decides(person)])
    if (!envelope.ok) throw new Differs('the change was refused')
    show(project)
    for (const [name, holds] of CHOSEN)
      if (!readFileSync(join(project, name), 'utf8').includes(holds))
        throw new Differs(`${name} does not hold ${holds}`)
    await undone(client, person, String((envelope.result as { undo?: unknown }).undo))
    for (const [name, text] of Object.entries(FILES))
      if (readFileSync(join(project, name), 'utf8') !== text) throw new Differs(`${name} is not as it was`)
    out('Both files are as they were, to the last byte.\n')
  } finally {
    await person.leaves()
    await client.request('shutdown', { when: 'always' })
    await client.ended
  }
}

function show(project: string): void {
  for (const name of Object.keys(FILES)) out(`\n$ cat ${name}\n${readFileSync(join(project, name), 'utf8')}`)
}

/** Each hunk is answered once the screen offers it: a key counts when what it answers stood there for a moment. */
async function decides(person: PersonAtScreen): Promise<void> {
  await person.sees(/1 of 3[\s\S]*y this hunk/)
  out('The first one is accepted: y.\n')
  await person.presses('y', /2 of 3[\s\S]*y this hunk/)
  await person.presses('n', /Why/)
  person.types(REASON)
  await person.sees(/2 of 3[\s\S]*cashier reads it/)
  out('The second one is refused: n, and why.\n')
  await person.presses('\r', /3 of 3[\s\S]*y this hunk/)
  await person.sees(/3 of 3/)
  out('The third one is edited: e, in the editor of the person.\n')
  await person.presses('e', /2 of 3 hunks are applied[\s\S]*(G shows the end|y sends this)/)
  await person.sees(/regular/)
  await person.presses('G', /y sends this/)
  out('All is decided, and seen: y sends it.\n')
  await person.presses('y', /nothing waits/)
}

async function undone(client: DaemonClient, person: PersonAtScreen, change: string): Promise<void> {
  const step: Step = {
    says: 'All of it is taken back as one, which is asked as well.',
    tool: 'undo_change',
    args: { change },
    expects: [/orders\.py/, /discounts\.py/],
  }
  const approves = async () => {
    await person.sees(/undo_change[\s\S]*(G shows the end|y approve)/)
    out('Nothing can be approved before its end was on the screen: G, and then y.\n')
    await person.presses('G', /y approve/)
    await person.presses('y', /nothing waits/)
  }
  await Promise.all([take(client, step), approves()])
}
