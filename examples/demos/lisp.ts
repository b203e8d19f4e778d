import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { DaemonClient } from '../../src/front/client.ts'
import { imago, openHouse, withDaemon } from './house.ts'
import { Differs, out, type Step, take } from './steps.ts'

const FIND: readonly Step[] = [
  {
    says: 'The takings are lower than they should be. What is in the ledger? (Nothing runs to tell.)',
    tool: 'inspect',
    args: { expr: '(first tea-house:*ledger*)' },
    expects: [/"(assam|sencha|lapsang)"/],
  },
  {
    says: 'What does a price depend on?',
    tool: 'symbol_definition',
    args: { symbols: ['tea-house:price'] },
    expects: [/defmethod price \(\(order regular-order\)\)/, /tea-house\.lisp/],
  },
  {
    says: 'And who else counts on that discount?',
    tool: 'who_calls',
    args: { name: 'tea-house::discount' },
    expects: [/price/i],
  },
  {
    says: 'Forty visits should save 4 percent.',
    tool: 'eval_expr',
    args: { expr: '(discount 40)', package: 'tea-house' },
    expects: [/^25$/m],
  },
  {
    says: 'What goes wrong is told with its restarts and its frames; no thread is left in a debugger.',
    tool: 'eval_expr',
    args: { expr: "(mapcar #'visits *guests*)", package: 'tea-house' },
    expects: [/no applicable method/i, /\[retry\]/i, /#<tea-house:order|tea-house::order/i],
    ok: false,
  },
]

/** A tea house in Lisp takes too little. It is attached while it serves, its function mended, and the takings rise. */
export async function playLisp(project: string): Promise<void> {
  const house = await openHouse(project)
  try {
    const address = `swank://127.0.0.1:${house.port}`
    out(`\n$ imago attach ${address} --name tea-house\n`)
    out(imago(project, 'attach', address, '--name', 'tea-house', '--key-file', house.secretFile))
    await withDaemon(project, async client => {
      for (const step of FIND) await take(client, step)
      await mend(client, project)
    })
    out(`\n$ imago detach tea-house\n${imago(project, 'detach', 'tea-house')}`)
    if (house.child.exitCode !== null) throw new Differs('the tea house has closed')
  } finally {
    house.child.kill()
    imago(project, 'shutdown', '--force')
  }
}

/** `max` was meant to be `min`. The file is mended as any editor would do it, and its one function compiled from there. */
async function mend(client: DaemonClient, project: string): Promise<void> {
  const file = join(project, 'tea-house.lisp')
  const mended = readFileSync(file, 'utf8').replace(
    '(max 25 (floor visits 10))',
    '(min 25 (floor visits 10))',
  )
  writeFileSync(file, mended)
  const form = /^\(defun discount [\s\S]*?\n\n/m.exec(mended)?.[0].trimEnd() ?? ''
  const line = mended.slice(0, mended.indexOf(form)).split('\n').length
  await take(client, {
    says: 'The discount is never below 25 percent: `max` was meant to be `min`. From its place in the file, compiled:',
    tool: 'compile_form',
    args: { form, package: 'tea-house', file, line },
    expects: [/discount/i],
  })
  await take(client, {
    says: 'The image has the new one, and knows where it stands: M-. leads there.',
    tool: 'symbol_definition',
    args: { symbols: ['tea-house::discount'] },
    expects: [/\(min 25/, new RegExp(`tea-house\\.lisp:${line}`)],
  })
  await take(client, {
    says: 'And the guests, who never stopped coming, pay what they should.',
    tool: 'eval_expr',
    args: {
      expr: '(progn (sleep 1/2) (loop for (tea price) in *ledger* when (string= tea "sencha") return price))',
      package: 'tea-house',
    },
    expects: [/^864$/m],
  })
}
