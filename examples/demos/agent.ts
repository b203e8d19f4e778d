import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { findPaths, PACKAGE_ROOT } from '../../src/paths.ts'
import { type PersonAtScreen, seatAtScreen } from './at-screen.ts'
import { imago, runEnds, shows, withDaemon } from './house.ts'
import { type Given, openPlayedModel, type Said } from './played-model.ts'
import { openSite, visits } from './site.ts'
import { Differs, out, PATIENCE_MS, STEP_MS } from './steps.ts'

const FILE = 'shop/orders.py'
const REASON = 'an unknown order is a 404'
const TASK = 'Find the cause, propose the fix, and see that it holds.'

/**
 * A request fails under Django, which wakes a run of the agent: it finds the cause, proposes two hunks and waits. Its
 * daemon is killed; a person at the next one takes one hunk, and the run goes on by itself. A script plays the model.
 * `--python PATH` names an interpreter with Django.
 */
export async function playAgent(given: string, args: readonly string[]): Promise<void> {
  const python = args[0] === '--python' ? (args[1] ?? 'python3') : 'python3'
  if (spawnSync(python, ['-c', 'import django']).status !== 0)
    throw new Differs(`${python} has no Django: pip install django, or npm run demo -- agent --python PATH`)
  out('# The model is played: a server on this machine makes each answer of what it was just told.\n')
  const project = join(given, 'shop')
  cpSync(join(PACKAGE_ROOT, 'examples/demos/web'), project, { recursive: true })
  const model = await openPlayedModel(answerOf)
  configure(`[agent]\nurl = "${model.url}"\n`)
  const site = await openSite(project, python, port => ['manage.py', 'runserver', `127.0.0.1:${port}`])
  const agent = asks(project)
  let person: PersonAtScreen | undefined
  try {
    await visits(site, '/orders/7', 200)
    await agent.says(/waiting for errors of shop/)
    await visits(site, '/orders/8', 500)
    await agent.says(/run-1 waits for a person/)

    out('\n# Nobody is there, and the daemon is killed. The run is in its file, and its question is, too.\n')
    await killDaemon(project)
    await agent.says(/Another one goes on/)
    shows(project, ['runs'], [/^run-1 +waits +Edit shop\/orders\.py/])
    out('\n# A person sits down, with imago watch. The next daemon draws the change again.\n')
    person = seatAtScreen(project, { editor: 'true' })
    await takesOneHunk(person)
    out(
      '\n# The run goes on by itself. It wants to run code, and an error has woken it: the person is asked.\n',
    )
    await person.sees(/eval_expr[\s\S]*y approve/)
    await person.presses('y', /nothing waits/)

    await runEnds(project, 'run-1')
    shows(
      project,
      ['runs', 'show', 'run-1'],
      [/hunk 1 .*applied/, RegExp(`comes to 900 now. hunk 2 .*${REASON}`)],
    )
    await visits(site, '/orders/8', 200)
    shows(
      project,
      ['log', '--tool', 'propose_file_edit', '--outcome', 'ok'],
      [/chosen by seat-1: 1 of 2 hunks/],
    )
    dispatchedOnce(project)
  } finally {
    await Promise.all([person?.leaves(), agent.leaves(), site.close(), model.close()])
    imago(project, 'shutdown', '--force')
  }
}

function configure(text: string): void {
  const { configDir } = findPaths()
  mkdirSync(configDir, { recursive: true })
  writeFileSync(join(configDir, 'config.toml'), text)
  out(`\n$ cat config.toml\n${text}\n`)
}

/** The agent, which waits for an error of the program. */
function asks(project: string) {
  const main = join(PACKAGE_ROOT, 'dist/src/main.cjs')
  const child = spawn(process.execPath, [main, 'ask', '--when', 'shop raises', TASK], {
    cwd: project,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  out(`$ imago ask --when 'shop raises' '${TASK}' &\n`)
  const ended = once(child, 'exit')
  let said = ''
  let heard = () => {}
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text
    heard()
  })
  return {
    /** Waits until it says that, and prints all that it has said until then. */
    async says(expected: RegExp): Promise<void> {
      const seen = await new Promise<boolean>(resolve => {
        const late = setTimeout(resolve, PATIENCE_MS, false)
        heard = () => {
          if (!expected.test(said) || !said.endsWith('\n')) return
          clearTimeout(late)
          resolve(true)
        }
        heard()
      })
      if (!seen) throw new Differs(`the agent never said ${expected}, but:\n${said}`)
      out(`\n${said.replace(/^/gm, '    ').trimEnd()}\n`)
      said = ''
    },
    async leaves(): Promise<void> {
      if (child.exitCode === null) child.kill('SIGINT')
      await ended
    },
  }
}

async function killDaemon(project: string): Promise<void> {
  await withDaemon(project, async client => {
    out(`$ kill -9 ${client.daemon.pid}\n`)
    process.kill(client.daemon.pid, 'SIGKILL')
    await client.ended
  })
}

async function takesOneHunk(person: PersonAtScreen): Promise<void> {
  await person.sees(/1 of 2[\s\S]*y this hunk/)
  out('The first hunk is accepted: y.\n')
  await person.presses('y', /2 of 2[\s\S]*y this hunk/)
  await person.presses('n', /Why/)
  person.types(REASON)
  await person.sees(/2 of 2[\s\S]*404/)
  out('The second one is refused: n, and why. All is decided: y sends it.\n')
  await person.presses('\r', /y sends this/)
  await person.presses('y', /nothing waits|eval_expr/)
}

/** What the journal says, and what the file holds. */
function dispatchedOnce(project: string): void {
  const lines = imago(project, 'log', '--tool', 'propose_file_edit', '--count', 'all', '--json').split('\n')
  const types = lines.flatMap(line => (line === '' ? [] : [(JSON.parse(line) as { type: string }).type]))
  const times = types.filter(type => type === 'dispatched').length
  if (times !== 1) throw new Differs(`the edit was dispatched ${times} times: ${types.join(', ')}`)
  const text = readFileSync(join(project, FILE), 'utf8')
  if (!text.includes(".get(order['discount'], 0)") || !text.includes('total(ORDERS[number])'))
    throw new Differs(`${FILE} is another:\n${text}`)
  out(`\nThe journal has one dispatched edit, and ${FILE} one hunk of two.\n`)
}

// The model.

/** Looks, proposes, looks again until the program has reloaded, calculates, answers. */
async function answerOf({ question, results }: Given): Promise<Said> {
  const frames = [...question.matchAll(/\/(shop\/\w+\.py):\d+ in (\w+)/g)]
  const names = frames.map(([, file = '', name = '']) => `${moduleOf(file)}.${name}`)
  const looks = { tool: 'symbol_definition', args: { symbols: names } }
  const [, table = '', key = ''] = /(\w+)\[(order\['discount'\])\]/.exec(question) ?? []
  const file = frames.at(-1)?.[1] ?? ''
  const { tool, text = '' } = results.at(-1) ?? {}
  const told = results.find(one => one.tool === 'propose_file_edit')?.text ?? ''
  switch (tool) {
    case undefined: {
      const values = { tool: 'inspect', args: { expr: `${moduleOf(file)}.${table}` } }
      return { text: 'The functions of the traceback, as they run, and the table:', calls: [looks, values] }
    }
    case 'inspect': {
      const has = /repr: (\{.*\})/.exec(text)?.[1]
      const [, whole = '', order = ''] = /(total\((\w+\[number\])\))/.exec(results[0]?.text ?? '') ?? []
      const edits = [
        {
          path: file,
          old_str: `${table}[${key}]`,
          new_str: `${table}.get(${key}, 0)`,
          why: `${table} is ${has}, and the order has no discount.`,
        },
        {
          path: file,
          old_str: whole,
          new_str: `total(${order.replace('[number]', ".get(number, {'items': [], 'discount': None})")})`,
          why: 'An order that is unknown should be no 500 either.',
        },
      ]
      const calls = [{ tool: 'propose_file_edit', args: { edits } }]
      return { text: `The key is None, and ${table} has ${has}.`, calls }
    }
    case 'propose_file_edit':
      return { text: 'It is decided. Does the program run it?', calls: [looks] }
    case 'symbol_definition': {
      if (text.includes(`${table}.get(`) && !text.includes('not what runs')) {
        const order = /order = (\{.*\})/.exec(question)?.[1]
        const expr = `import ${moduleOf(file)}; ${names.at(-1)}(${order})`
        return { text: 'It does. What failed then:', calls: [{ tool: 'eval_expr', args: { expr } }] }
      }
      await sleep(STEP_MS)
      return { text: 'Not yet.', calls: [looks] }
    }
    default: {
      const total = /^\d+$/m.exec(text)?.[0]
      const refused = /^.*refused.*$/m.exec(told)?.[0].trim()
      return { text: `An order without discount comes to ${total} now. ${refused}.` }
    }
  }
}

const moduleOf = (file: string) => file.replace(/\.py$/, '').replaceAll('/', '.')
