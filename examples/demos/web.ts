import { spawnSync } from 'node:child_process'
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { PACKAGE_ROOT } from '../../src/paths.ts'
import { imago, withDaemon } from './house.ts'
import { type Model, openModel } from './model.ts'
import { type Person, seatPerson } from './person.ts'
import { openSite, type Site, visits } from './site.ts'
import { Differs, PATIENCE_MS, STEP_MS, type Step } from './steps.ts'

const FILE = 'shop/orders.py'

const FIND: readonly Step[] = [
  {
    says: 'A model with nothing but MCP is asked why. What runs here? A parent that reloads, and a child that serves:',
    tool: 'kernels',
    args: {},
    expects: [/starts the program again/, /^ +shop +listens, not attached/m],
  },
  {
    says: 'It names no process. What went wrong in the program?',
    tool: 'get_last_error',
    args: {},
    expects: [/KeyError: None/, /request GET \/orders\/8/, /'discount': None/, /was attached/],
  },
  {
    says: 'The function that failed, as it runs:',
    tool: 'symbol_definition',
    args: { symbols: ['shop.orders.total'] },
    expects: [/def total\(order\):/, /DISCOUNTS\[order\['discount'\]\]/],
  },
]

const MEND = edit({
  says: 'An order without a discount has none to look up. The model proposes an edit, and a person is asked.',
  old_str: "DISCOUNTS[order['discount']]",
  new_str: "DISCOUNTS.get(order['discount'], 0)",
})

const NO_PRICE: Step = {
  says: 'The second run. What went wrong this time?',
  tool: 'get_last_error',
  args: {},
  expects: [/KeyError: 'scone'/, /request GET \/orders\/9/, /'items': \['tea', 'scone'\]/],
}

const SLIP = edit({
  says: 'Scones have no price. The edit that gives them one lacks a comma, and the person does not see it.',
  old_str: "'cake': 380}",
  new_str: "'cake': 380 'scone': 320}",
})

const TOLD: Step = {
  says: 'Django could not load that. The model asks what is wrong now:',
  tool: 'get_last_error',
  args: {},
  expects: [/SyntaxError/, /thread django-main-thread/, /orders\.py/],
}

const COMMA = edit({ says: 'So the comma is put in.', old_str: '380 ', new_str: '380, ' })

const ONE_NAME: Step = {
  says: 'Four processes have been the shop by now. The model called all of them by one name, and never said it:',
  tool: 'kernels',
  args: {},
  expects: [/^\* shop +ready/m],
}

function edit({
  says,
  old_str,
  new_str,
}: {
  readonly says: string
  readonly old_str: string
  readonly new_str: string
}): Step {
  return { says, tool: 'edit_file', args: { path: FILE, old_str, new_str }, expects: [/orders\.py/, /undo/] }
}

/**
 * A Django project answers 500. A model that is told nothing of kernels finds the program and its error, and proposes an
 * edit; a person approves it, Django reloads, and the model sees the next request succeed. Then the same with an edit
 * that breaks the file first. `--python PATH` names an interpreter with Django.
 */
export async function playWeb(given: string, args: readonly string[]): Promise<void> {
  const python = args[0] === '--python' ? (args[1] ?? 'python3') : 'python3'
  if (spawnSync(python, ['-c', 'import django']).status !== 0)
    throw new Differs(`${python} has no Django: pip install django, or npm run demo -- web --python PATH`)
  const project = join(given, 'shop')
  cpSync(join(PACKAGE_ROOT, 'examples/demos/web'), project, { recursive: true })
  const site = await openSite(project, python, port => ['manage.py', 'runserver', `127.0.0.1:${port}`])
  const person = seatPerson(project)
  const model = openModel(project)
  try {
    await person.sees(/plans that need approval are shown here.*\n/)
    await visits(site, '/orders/7', 200)
    await visits(site, '/orders/8', 500)
    for (const step of FIND) await model.asks(step)
    await approvedEdit(MEND, { model, person })
    await seesIt('/orders/8', { site, model })

    await visits(site, '/orders/9', 500)
    await model.asks(NO_PRICE)
    await approvedEdit(SLIP, { model, person })
    await visits(site, '/orders/9', 'nobody')
    await model.asks(TOLD, { again: true })
    await looksForChanges(project)
    await approvedEdit(COMMA, { model, person })
    await seesIt('/orders/9', { site, model })
    await model.asks(ONE_NAME)
  } finally {
    await Promise.all([person.leaves(), model.leaves(), site.close()])
    imago(project, 'shutdown', '--force')
  }
}

interface Talk {
  readonly model: Model
  readonly person: Person
}

async function approvedEdit(step: Step, { model, person }: Talk): Promise<void> {
  const approves = async () => {
    await person.sees(/\n\| -[^-][\s\S]*\n\| \+[^+][\s\S]*Approve\?.*\[\?\] /)
    person.types('y\n')
    await person.sees(/: approved\n/)
  }
  await model.asks(step, { meanwhile: approves })
}

/** True once the reloader has looked at the file that failed: what is saved before that, it does not notice. */
const IS_LOOKED_AT = `any("orders.py" in str(path) for frame in __import__("sys")._current_frames().values()
    for path in list(frame.f_locals.get("mtimes", ())))`

/** Waits until Django would notice that the file is mended, which takes it a second. */
async function looksForChanges(project: string): Promise<void> {
  await withDaemon(project, async client => {
    for (let waited = 0; waited < PATIENCE_MS; waited += STEP_MS) {
      const envelope = await client.call({ tool: 'eval_expr', args: { expr: IS_LOOKED_AT } })
      if (JSON.stringify(envelope).includes('"value_repr":"True"')) return
      await sleep(STEP_MS)
    }
    throw new Differs('Django does not look for changes')
  })
}

/** Once Django has reloaded, the model takes down the next request, under the name that it never had to learn. */
async function seesIt(path: string, { site, model }: { site: Site; model: Model }): Promise<void> {
  await visits(site, path, 200)
  const set = await model.asks({
    says: 'Django has reloaded. The model goes on, and takes down the next call of the function:',
    tool: 'trace_function',
    args: { name: 'shop.orders.total', limit: 1 },
    expects: [/another process since your last call/],
  })
  const answer = await visits(site, path, 200)
  const { total } = JSON.parse(answer) as { total: number }
  await model.asks({
    says: 'What was it given, and what did it answer?',
    tool: 'trace_calls',
    args: { tracepoint: /t\d+@\w+/.exec(set)?.[0] },
    expects: [new RegExp(`\\b${total}\\b`), /'items'/],
  })
}
