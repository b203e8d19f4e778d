import { type ComponentChildren, render } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Errors } from './errors.tsx'
import { Expression } from './expression.tsx'
import { Journal } from './journal.tsx'
import { useKeys } from './keys.ts'
import { inLine } from './marks.ts'
import { Acts, Line, type ViewProps } from './parts.tsx'
import { hasUnsent, Plans } from './plans.tsx'
import { Programs } from './programs.tsx'
import { Runs } from './runs.tsx'
import { credentialHere, Page, type View } from './state.ts'

/** In the order of their keys. */
const VIEWS: Readonly<Record<View, (props: ViewProps) => ComponentChildren>> = {
  Waits: Plans,
  Errors,
  Programs,
  Expression,
  Journal,
  Runs,
}
const NAMES = Object.keys(VIEWS) as View[]

function App({ page }: ViewProps) {
  const { waiting, view, state, question } = page
  const name = inLine(page.root.split('/').at(-1) ?? page.root)
  useEffect(() => {
    document.title = `${waiting > 0 ? `(${waiting}) ` : ''}${name} · Imago`
  }, [waiting])
  // What was said goes with the next key, before that says something.
  const forget = ({ ctrlKey, metaKey }: KeyboardEvent) =>
    ctrlKey || metaKey || page.news === '' || page.say('')
  useEffect(() => {
    addEventListener('keydown', forget, true)
    addEventListener('beforeunload', event => hasUnsent(page) && event.preventDefault())
  }, [])
  const go = (view: View) => {
    page.show(view)
    document.querySelector<HTMLElement>('main textarea')?.focus()
  }
  useKeys(0, Object.fromEntries(NAMES.map((view, at) => [String(at + 1), () => go(view)])))
  const Shown = VIEWS[view]
  return (
    <>
      <header>
        <h1 title={inLine(page.root)}>{name}</h1>
        <nav aria-label="Views">
          {NAMES.map((one, at) => (
            <button
              key={one}
              type="button"
              aria-current={one === view ? 'page' : undefined}
              aria-keyshortcuts={String(at + 1)}
              onClick={() => go(one)}
            >
              {one} {one === 'Waits' && waiting > 0 && <b>{waiting}</b>}
            </button>
          ))}
        </nav>
      </header>
      <p class="quiet news" role="status">
        {waiting > 0 && `${waiting} to answer. `}
        {inLine(page.news)}
      </p>
      {state === 'lost' && (
        <p class="warning" role="status">
          The daemon is away. This page looks for it.
        </p>
      )}
      {question !== undefined && (
        <>
          <Line
            label={`The code asks: ${inLine(question.prompt)}`}
            isSecret={question.secret}
            done={question.answer}
          />
          <Acts of={[['No input', '', () => question.answer(undefined)]]} />
        </>
      )}
      <main aria-label={view}>{state === 'closed' ? <Door why={page.why} /> : <Shown page={page} />}</main>
      <footer class="quiet">
        1 to 6: views. j, k: next, previous; J, K: of all hunks. Enter opens, Escape leaves a field.
      </footer>
    </>
  )
}

/** Where the page is not let in: it takes another address in its place. */
function Door({ why }: { why: string }) {
  const [fault, tell] = useState('')
  return (
    <>
      <p>{inLine(why)}</p>
      <Line
        label="In the folder of the project, type imago web --no-open, and paste here what it prints:"
        done={pasted => tell(entering(pasted))}
      />
      <p class="bad">{fault}</p>
    </>
  )
}

/** Goes to a pasted address of a page on this machine; else why not. */
function entering(pasted: string): string {
  const address = URL.canParse(pasted) ? new URL(pasted) : undefined
  const isOurs = address?.protocol === 'http:' && ['127.0.0.1', 'localhost'].includes(address.hostname)
  if (!isOurs || address.pathname !== '/page') return 'That is not an address that imago web has printed.'
  location.href = pasted
  // Where it differs in its fragment alone, nothing is loaded yet.
  if (address.origin === location.origin) location.reload()
  return ''
}

function begin(place: Element): void {
  const here = credentialHere()
  if (here === undefined) render(<Door why="This page shows a project of this machine." />, place)
  else {
    let page: Page | undefined
    const draw = () => page && render(<App page={page} />, place)
    page = new Page({ ...here, draw })
    draw()
  }
}

begin(document.body)
