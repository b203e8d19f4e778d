import { render } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Errors } from './errors.tsx'
import { Expression } from './expression.tsx'
import { Journal } from './journal.tsx'
import { useKeys } from './keys.ts'
import { inLine } from './marks.ts'
import { Acts, type ViewProps } from './parts.tsx'
import { Plans } from './plans.tsx'
import { Programs } from './programs.tsx'
import { Runs } from './runs.tsx'
import { credentialHere, Page, VIEWS, type View } from './state.ts'

const TITLES: Readonly<Record<View, string>> = {
  waits: 'Waits',
  errors: 'Errors',
  programs: 'Programs',
  expression: 'Expression',
  journal: 'Journal',
  runs: 'Runs',
}

/** What the keys do, for `?`. */
const KEYS: readonly (readonly [keys: string, does: string])[] = [
  ['1 … 6', 'the views'],
  ['j k', 'the next and the previous row, or undecided hunk; J K go through all hunks'],
  ['Enter', 'opens the row'],
  ['y', 'takes the hunk, approves the plan, or sends the answers'],
  ['n', 'refuses the hunk or the plan, with a reason; goes back before sending'],
  ['e', 'edits the hunk, or the arguments'],
  ['a d', 'takes, or refuses, the rest of the hunks'],
  ['u', 'undoes the change that is shown'],
  ['q', 'leaves the plan waiting'],
  ['S', 'asks for a seat'],
  ['?', 'these keys'],
]

function App({ page }: ViewProps) {
  const [isHelp, help] = useState(false)
  const { waiting, view } = page
  const name = page.root.split('/').at(-1) ?? page.root
  useEffect(() => {
    document.title = `${waiting > 0 ? `(${waiting}) ` : ''}${name} · Imago`
  }, [waiting, name])
  useKeys(0, {
    ...Object.fromEntries(VIEWS.map((view, at) => [String(at + 1), () => page.show(view)])),
    '?': () => help(!isHelp),
    Escape: () => help(false),
  })
  return (
    <>
      <header class="top">
        <h1 title={page.root}>{inLine(name)}</h1>
        <nav aria-label="Views">
          {VIEWS.map((one, at) => (
            <button
              key={one}
              type="button"
              aria-current={one === view ? 'page' : undefined}
              aria-keyshortcuts={String(at + 1)}
              onClick={() => page.show(one)}
            >
              {TITLES[one]}
              {one === 'waits' && waiting > 0 && <span class="count">{waiting}</span>}
            </button>
          ))}
        </nav>
      </header>
      <p class="visually-hidden" aria-live="polite">
        {waiting === 0 ? 'Nothing waits.' : `${waiting} wait for you.`}
      </p>
      <p class={page.news === '' ? 'visually-hidden' : 'news'} aria-live="polite" role="status">
        {inLine(page.news)}
      </p>
      {page.state === 'lost' && (
        <p class="warning" role="status">
          The daemon is away. This page looks for it; a command of Imago in a terminal starts it.
        </p>
      )}
      {isHelp && (
        <section class="card" aria-label="Keys">
          <dl class="facts">
            {KEYS.map(([keys, does]) => (
              <div key={keys}>
                <dt>
                  <kbd>{keys}</kbd>
                </dt>
                <dd>{does}</dd>
              </div>
            ))}
          </dl>
        </section>
      )}
      {page.question !== undefined && <Asked page={page} />}
      <main aria-label={TITLES[view]}>
        {page.state === 'closed' ? <Door why={page.why} /> : <Shown page={page} />}
      </main>
    </>
  )
}

function Shown({ page }: ViewProps) {
  switch (page.view) {
    case 'waits':
      return <Plans page={page} />
    case 'errors':
      return <Errors page={page} />
    case 'programs':
      return <Programs page={page} />
    case 'expression':
      return <Expression page={page} />
    case 'journal':
      return <Journal page={page} />
    case 'runs':
      return <Runs page={page} />
    default:
      return page.view satisfies never
  }
}

/** Code of the program wants a line of input. */
function Asked({ page }: ViewProps) {
  const [text, set] = useState('')
  const { prompt = '', secret = false } = page.question ?? {}
  return (
    <form
      class="card"
      onSubmit={event => {
        event.preventDefault()
        page.question?.answer(text)
      }}
    >
      <label>
        The code asks: {inLine(prompt)}
        <input
          type={secret ? 'password' : 'text'}
          value={text}
          onInput={({ currentTarget }) => set(currentTarget.value)}
        />
      </label>
      <Acts of={[['No input', '', () => page.question?.answer(undefined)]]} />
    </form>
  )
}

/** Where the page is not let in: it takes another address in its place. */
function Door({ why }: { why: string }) {
  const [fault, tell] = useState('')
  return (
    <form
      class="card door"
      onSubmit={event => {
        event.preventDefault()
        const pasted = new FormData(event.currentTarget).get('address')
        const wrong = entering(String(pasted ?? '').trim())
        tell(wrong ?? '')
      }}
    >
      <p>{inLine(why)}</p>
      <label>
        In the folder of the project, type <code>imago web --no-open</code>, and paste here what it prints:
        <input name="address" autocomplete="off" spellcheck={false} />
      </label>
      {fault !== '' && <p class="bad">{fault}</p>}
      <button type="submit" class="main">
        Open
      </button>
    </form>
  )
}

/** Goes to a pasted address of a page on this machine; else why not. */
function entering(pasted: string): string | undefined {
  const address = URL.parse(pasted)
  const isOurs = address?.protocol === 'http:' && ['127.0.0.1', 'localhost'].includes(address.hostname)
  if (address === null || !isOurs || address.pathname !== '/page')
    return 'That is not an address that imago web has printed.'
  if (address.origin !== location.origin) location.href = pasted
  else {
    location.hash = address.hash
    location.reload()
  }
  return undefined
}

function begin(): void {
  const place = document.getElementById('page')
  if (place === null) return
  const here = credentialHere()
  if (here === undefined) {
    render(
      <main>
        <Door why="This page shows a project of this machine." />
      </main>,
      place,
    )
    return
  }
  let page: Page | undefined
  const draw = () => {
    if (page !== undefined) render(<App page={page} />, place)
  }
  page = new Page({ ...here, draw })
  draw()
}

begin()
