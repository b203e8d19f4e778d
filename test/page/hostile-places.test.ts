import type { Browser, Page } from 'playwright-core'
import { openBrowser, openedNow, presses } from '../support/browser.ts'
import { assert, suite } from '../support/harness.ts'
import { straysIn } from '../support/hostile-screen.ts'
import { HOSTILE_NAMES, HOSTILE_TEXTS } from '../support/hostile-texts.ts'
import { type PlayedCall, playPage } from '../support/played-page.ts'

/**
 * Every text that was made to be taken for something else, in every place where the page shows a text of somebody else.
 * The test plays the daemon, and sends each as it is, also where the core would have put marks in it.
 */
const test = suite('hostile texts in every place of the page', { limitMs: 90_000 })

/** Markup that would do something, or be seen, where it became a part of the page. */
const MARKUP = [
  '<b class="hostile">bold</b>',
  '<img class="hostile" src="x" onerror="document.title = 1">',
  '<script class="hostile">document.title = 2</script>',
  '<svg class="hostile" onload="document.title = 3"></svg>',
  '<iframe class="hostile" srcdoc="<script>parent.document.title = 4</script>"></iframe>',
  '<a class="hostile" href="javascript:document.title = 5">press</a>',
  '</pre></li></main><style class="hostile">main { display: none }</style>',
  '</title></textarea><!-- <![CDATA[ <plaintext class="hostile">',
  '"><button class="hostile" onclick="document.title = 6">Approve</button>',
  '&lt;b&gt; &#x202e; &nbsp; \\u003cb\\u003e \\x1b[31m',
]

/** As much of a text as all places at once can have. */
const MOST = 600
const ATTACKS = [
  ...MARKUP.map(text => [text, text] as const),
  ...HOSTILE_TEXTS.map(({ what, text }) => [what, text.slice(0, MOST)] as const),
  ...HOSTILE_NAMES.map(([what, name]) => [`names ${what}`, name.slice(0, MOST)] as const),
]

const HIDDEN = /(?![\n\t ])[\p{C}\p{Zl}\p{Zp}\p{Zs}\p{Default_Ignorable_Code_Point}\u2800]/gu

/** As it has to be read: a mark for each character that is not seen. */
const marked = (text: string) =>
  text.replaceAll('\r\n', '\n').replace(HIDDEN, hidden => {
    const code = hidden.codePointAt(0) ?? 0
    return `⟦U+${code.toString(16).toUpperCase().padStart(4, '0')}⟧`
  })

const quoted = (place: string, at: number, text: string) => `${place} ${at} «${text}»`

/** Where a text of somebody else has been put, and what each becomes on the way there. */
const places = new Map<string, (text: string) => string>()

/** All of the attacks as one text, for that place. */
function hostile(place: string, becomes = (text: string) => text): string {
  places.set(place, becomes)
  return ATTACKS.map(([, text], at) => quoted(place, at, becomes(text))).join('\n')
}

/** No address and no parser takes these as they are. */
const wellFormed = (text: string) => text.replace(/\p{Cs}/gu, '\ufffd').replaceAll('\0', '')

/** The name of a file, or of a folder, which is above all else. */
const inPath = (text: string) => wellFormed(text.slice(0, 30)).replaceAll('/', '|')

/** A line end is one in a field, and there is an end to what can be typed. */
const typed = (text: string) => wellFormed(text.slice(0, 30)).replaceAll('\r', '')

/** Of a page that a program has made: a text of it. */
const inHtml = (text: string) => text.replace(/[&<>\r]/g, one => `&#${one.charCodeAt(0)};`)

const base64 = (text: string) => Buffer.from(text).toString('base64')

const DISPLAYS: Readonly<Record<string, string>> = {
  cells: `<table><tr><th>${inHtml(hostile('cell of a table', wellFormed))}</th></tr></table>`,
  text: `<p>${inHtml(hostile('text of a display', wellFormed))}</p>`,
  markup: `<table><tr><td>${MARKUP.join('</td><td>')}</td></tr></table>`,
}

const frame = (of: string) => ({
  function: hostile(`function of ${of}`),
  file: hostile(`file of ${of}`),
  line: 1,
  source: hostile(`source of ${of}`),
  locals: [{ name: hostile(`variable of ${of}`), repr: hostile(`value of ${of}`) }],
})

const when = '2026-01-02T10:00:00.000Z'
const plan = (id: string, kernel: string | null) => ({
  state: 'waits',
  id,
  hash: id,
  tool: hostile(`tool of ${id}`),
  kernel,
  who: hostile(`caller of ${id}`),
  title: hostile(`title of ${id}`),
  warnings: [hostile(`warning of ${id}`)],
  notes: [hostile(`note of ${id}`)],
  times: 1,
})

const ended = { outcome: 'ok', undo: hostile('change'), notice: hostile('notice of the end') }
const ROWS: Readonly<Record<string, readonly object[]>> = {
  approvals: [
    plan('plan in hunks', hostile('kernel of a plan')),
    plan('plan as a whole', null),
    {
      state: 'held',
      call: 'held',
      tool: hostile('tool of a question'),
      who: hostile('caller of a question'),
    },
    {
      state: 'ended',
      id: 'end',
      outcome: 'approved',
      tool: hostile('tool of the end'),
      title: hostile('title of the end'),
      why: hostile('why of the end'),
      ago_ms: 0,
      ended,
    },
  ],
  errors: [
    {
      kernel: hostile('kernel of an error'),
      number: 1,
      what: hostile('error'),
      file: `/shop/${hostile('file', inPath)}`,
      line: 1,
    },
  ].map(row => ({ ...row, at: when, times: 2 })),
  kernels: [
    {
      name: hostile('program'),
      language: 'python',
      implementation: hostile('implementation'),
      pid: 1,
      state: 'ready',
      running: null,
      suspended: 0,
      message: hostile('message of a program'),
    },
  ],
  programs: [{ name: 'z', attach: 'z', program: hostile('program that listens'), pid: 2 }],
  runs: [1, 2].map(number => ({
    run: `run-${number}`,
    state: 'waits',
    text: hostile('text of a run'),
    waits_for: hostile('what a run waits for'),
    at: when,
  })),
  seats: [
    {
      id: 'wanted',
      why: null,
      who: hostile('who wants a seat'),
      through: { code: 'code', driver: hostile('driver') },
    },
  ],
}

const TOOLS: Readonly<Record<string, (args: Readonly<Record<string, unknown>>) => object>> = {
  get_last_error: ({ number }) =>
    number === undefined
      ? {
          error: null,
          at: null,
          others: [{ number: 2, at: when, what: hostile('error of a process'), file: null, times: 1 }].map(
            error => ({ ...error, of: { name: hostile('process'), pid: 3 } }),
          ),
        }
      : {
          error: { frames: [frame('an error')], traceback: hostile('report of an error') },
          at: when,
          program: { said: hostile('log of an error') },
          others: [],
        },
  threads: () => ({
    threads: [
      {
        names: [hostile('thread')],
        count: 1,
        state: 'waiting',
        waits_for: hostile('lock'),
        frames: [frame('a thread'), { folded: 2, libraries: [hostile('library')] }],
      },
    ],
    tasks: [],
    deadlocks: [[hostile('thread in a circle')]],
    notes: [hostile('note on threads')],
  }),
  inspect: ({ expr }) =>
    expr === 'leaf'
      ? {
          type: { qualified: hostile('type of a leaf') },
          note: hostile('note on a leaf'),
          repr: { text: hostile('text of a leaf') },
        }
      : {
          type: { qualified: hostile('type of a value') },
          note: null,
          exprs: { [hostile('name of a field')]: 'leaf' },
          fields: {
            rows: [
              {
                name: hostile('name of a field'),
                type_name: hostile('type of a field'),
                value: hostile('value of a field'),
              },
            ],
            total: 1,
          },
          sample: { items: [hostile('item')], exprs: [null] },
        },
  eval_expr: () => ({
    output: hostile('output'),
    value_repr: hostile('result'),
    displays: [{ files: Object.keys(DISPLAYS).map(path => ({ path })) }],
    handle: 'handle',
  }),
}

const fault = (place: string) => ({
  code: 'failed',
  message: hostile(`message of ${place}`),
  data: { next: hostile(`next step of ${place}`) },
})

const METHODS: Readonly<Record<string, (call: PlayedCall) => void>> = {
  subscribe: ({ event }) =>
    event({
      snapshot: Object.entries(ROWS).flatMap(([topic, rows]) =>
        rows.map((value, at) => ({ topic, key: `${at}`, value })),
      ),
    }),
  sit({ event }) {
    event({ type: 'asked', code: 'code', seats: [{ who: hostile('who sits') }] })
    sits = () =>
      event({ type: 'seated', seat: hostile('name of the seat'), trouble: hostile('trouble of the seat') })
  },
  plan: ({ params, result }) =>
    result({
      code: 'code',
      args: {},
      files: [],
      body: hostile('body of a plan'),
      hunks:
        params.plan === 'plan as a whole'
          ? []
          : [
              {
                number: 1,
                shown: hostile('file of a hunk'),
                line: 1,
                before: '',
                after: 'x\n',
                diff: hostile('lines of a hunk'),
                why: hostile('purpose of a hunk'),
              },
            ],
    }),
  journal: ({ result }) => result({ stories: [`! 2026-01-02 10:00:00  ${hostile('story')}`] }),
  run: ({ params, result, fails }) =>
    params.run === 'run-2' ? result({ text: hostile('what a run did') }) : fails(fault('a failure')),
  cancel_run: ({ fails }) => fails(fault('news')),
  display: ({ params, result }) =>
    result({ media_type: 'text/html', bytes: 1, data: base64(DISPLAYS[String(params.path)] ?? '') }),
  call({ params, event, result }) {
    if (params.tool === 'eval_expr') event({ text: 'begins' })
    const answer = TOOLS[String(params.tool)]?.(params.args as Readonly<Record<string, unknown>>)
    result({ ok: true, result: answer })
  },
}

let sits = () => {}
let browser: Browser
let page: Page
/** All that was shown, without its blanks. */
let seen = ''
/** By view: characters that are not seen, and elements that are none of the page's. */
const strays: Readonly<Record<'hidden' | 'markup', string[]>> = { hidden: [], markup: [] }

/** What the page makes elements of, and no attribute of them is a script. */
const OURS =
  'html,head,meta,title,link,script,body,header,h1,h2,nav,button,b,p,main,footer,section,div,ul,ol,li,span,code,pre,' +
  'article,details,summary,label,textarea,input,select,option,output,aside,kbd,i,ins,del,table,tr,th,td,form,noscript'
const LOOK = `(() => {
  const all = [...document.querySelectorAll('*')]
  const foreign = one =>
    !one.matches(${JSON.stringify(OURS)}) || one.matches('.hostile, body script') ||
    one.getAttributeNames().some(name => name.startsWith('on'))
  const labels = all.flatMap(one => ['title', 'label', 'aria-label', 'alt'].map(name => one.getAttribute(name)))
  return {
    text: document.body.textContent,
    labels: [document.title, ...labels].join(' '),
    markup: all.filter(foreign).map(one => one.outerHTML.slice(0, 80)),
  }
})()`

/** Looks at all of a view, once nothing of it is asked for any more. */
async function look(view: string): Promise<void> {
  const pending = page.locator('main').getByText('…', { exact: true })
  do await page.evaluate(`for (const one of document.querySelectorAll('main details')) one.open = true`)
  while ((await pending.count()) > 0 || (await page.locator('main details:not([open])').count()) > 0)
  const found = await page.evaluate<{ text: string; labels: string; markup: string[] }>(LOOK)
  seen += withoutBlanks(found.text + found.labels)
  const hidden = straysIn(found.text + found.labels, /(?!)/g)
  strays.hidden.push(...hidden.map(one => `${view}: ${one}`))
  strays.markup.push(...found.markup.map(one => `${view}: ${one}`))
}

const withoutBlanks = (text: string) => text.replace(/[\s,]/g, '')

/** Opens the row of a list, looks, and comes back. */
async function opens(row: number, view: string, meanwhile = async () => {}): Promise<void> {
  await page.locator('li > .row').nth(row).click()
  await page.getByRole('button', { name: 'Back' }).waitFor()
  await meanwhile()
  await look(view)
  await presses(page, 'q')
}

/** Goes through all that the page shows. */
async function goThrough(): Promise<void> {
  browser = await openBrowser()
  page = await browser.newPage({ viewport: { width: 1280, height: 2000 } })
  let welcome: object = { welcome: { session: 'secret' } }
  const ask = await playPage(page, {
    root: `/shop/${hostile('folder', inPath)}`,
    welcome: () => welcome,
    called: call => METHODS[call.method]?.(call),
  })
  await page.locator('li > .row').first().waitFor()
  await look('Waits')
  await page.keyboard.press('S')
  await page.getByText('Within a minute').waitFor()
  await look('asking for a seat')
  sits()
  await page.getByText('You sit here').waitFor()
  await look('a seat')
  await opens(0, 'a plan in hunks', async () => {
    await openedNow(page)
    await look('hunks')
    await presses(page, 'n')
    await page.getByRole('textbox').fill(hostile('reason', typed))
    await page.keyboard.press('Enter')
    await page.getByText('All is decided').waitFor()
  })
  await opens(1, 'a plan as a whole', () => openedNow(page))
  await opens(3, 'what came of it')
  for (const [key, view] of Object.entries({ 2: 'Errors', 3: 'Programs', 5: 'Journal', 6: 'Runs' })) {
    await presses(page, key)
    await page.getByRole('main', { name: view }).locator('li > .row').first().waitFor()
    await look(view)
    await opens(0, `a row of ${view}`)
  }
  await opens(1, 'a failure', () => page.getByRole('alert').waitFor())
  await opens(0, 'news', async () => {
    await page.getByRole('button', { name: 'Cancel it' }).click()
    await page.locator('.news', { hasText: 'message of news' }).waitFor()
  })
  await presses(page, '4')
  await page.getByRole('textbox').fill('cart')
  await page.keyboard.press('Control+Enter')
  await page.locator('article table').first().waitFor()
  ask('ask', { question: { prompt: hostile('question of code') } })
  await page.getByText('The code asks').waitFor()
  await look('Expression')
  welcome = { refused: { code: 'failed', message: hostile('why the page is closed') } }
  await page.reload()
  await page.getByText('paste here').waitFor()
  await look('the door')
}

test.before(goThrough)
test.after(() => browser?.close())

for (const [at, [what, text]] of ATTACKS.entries())
  test(`on the page, a hostile text is seen as what it is, in every place: ${what} (threat 14) (threat 16) (threat 17)`, () => {
    const missing = [...places].filter(
      ([place, becomes]) => !seen.includes(withoutBlanks(marked(quoted(place, at, becomes(text))))),
    )
    assert.equal(
      missing.map(([place]) => place),
      [],
    )
  })

test('on the page, no hostile text becomes an element, an attribute or a script (threat 14)', () => {
  assert.equal(strays.markup, [])
})

test('on the page, nothing that is not seen comes through without a mark, in texts, titles and labels (threat 16) (threat 17)', () => {
  assert.equal(strays.hidden, [])
})
