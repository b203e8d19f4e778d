import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Methods, SeatWanted } from '../front/protocol.ts'
import { Diff } from './diff.tsx'
import { useKeys } from './keys.ts'
import { hiddenIn, inLine, marked } from './marks.ts'
import { type Act, Acts, Code, List, Pending, useAnswer, type ViewProps } from './parts.tsx'
import type { Ended, Waiting } from './state.ts'

type Plan = Methods['plan']['result']
type Hunk = Plan['hunks'][number]
type Answering = Methods['answer']['params']
type Choice = NonNullable<Answering['choices']>[number]

/** What waits for a person, and what became of the last that did. */
export function Plans({ page }: ViewProps) {
  const { opened } = page
  const plan = opened === undefined ? undefined : page.rows.find('approvals', opened)
  return (
    <>
      <SeatBar page={page} />
      {page.wanted.map(wanted => (
        <Wanted key={wanted.id} page={page} wanted={wanted} />
      ))}
      {opened === undefined || plan === undefined ? (
        <PlanRows page={page} />
      ) : plan.state === 'waits' && page.seat.type === 'seated' ? (
        <OpenPlan key={`${plan.id} ${plan.hash}`} page={page} plan={plan} />
      ) : plan.state === 'ended' ? (
        <EndedPlan page={page} end={plan} />
      ) : (
        <Closed page={page} title={plan.state === 'waits' ? plan.title : plan.tool} />
      )}
    </>
  )
}

function SeatBar({ page }: ViewProps) {
  const { seat } = page
  if (seat.type === 'seated')
    return (
      <aside class="bar" aria-label="Seat">
        <span>You sit here, as {seat.seat}.</span>
        {seat.trouble !== null && <span class="bad">{marked(seat.trouble)}</span>}
        <Acts
          of={[
            seat.trouble !== null && ['Acknowledge', '', () => page.acknowledge()],
            ['Leave the seat', '', () => page.leave()],
          ]}
        />
      </aside>
    )
  if (seat.type === 'none')
    return (
      <aside class="bar" aria-label="Seat">
        <span>{seat.said === null ? 'You need a seat to see and answer plans.' : marked(seat.said)}</span>
        <Acts of={[['Sit', 'S', () => page.sit(), true]]} />
      </aside>
    )
  const others = seat.seats.map(({ who }) => who).join(', ')
  return (
    <aside class="bar asking" aria-label="Seat" role="status">
      {seat.code === null ? (
        <span>Asking for a seat …</span>
      ) : (
        <span>
          To let this page answer, type in a terminal: <code class="code-word">imago seat {seat.code}</code>
          {others !== '' && `, or say yes where somebody sits: ${others}`}. The code holds for a minute.
        </span>
      )}
      <Acts of={[['Give up', '', () => page.leave()]]} />
    </aside>
  )
}

function Wanted({ page, wanted: { id, who, through } }: ViewProps & { wanted: SeatWanted }) {
  const answer = (admit: boolean) => void page.client.request('admit', { wanted: id, admit })
  return (
    <section class="card" aria-label="Somebody wants a seat">
      <p>
        <b>{marked(who)}</b> wants a seat, too. {through && `It shows the code ${through.code}. `}
        {through?.driver && <span class="bad">May be driven by {marked(through.driver)}.</span>}
      </p>
      <Acts
        of={[
          ['Let it sit', '', () => answer(true)],
          ['Turn it away', '', () => answer(false)],
        ]}
      />
    </section>
  )
}

function PlanRows({ page }: ViewProps) {
  const held = page.rows.of('approvals').filter(row => row.state === 'held')
  return (
    <>
      <List
        label="What waits for you"
        none="Nothing waits."
        rows={[
          ...page.plans.map(({ id, tool, title, who, times, warnings }) => ({
            key: id,
            lead: tool,
            title,
            more: `${warnings.length > 0 ? 'LOOK ' : ''}${who}${times > 1 ? `, asked ${times} times` : ''}`,
            isBad: warnings.length > 0,
            open: () => page.open(id),
          })),
          ...held.map(({ call, tool, run, who, asked_at }) => ({
            key: call,
            lead: tool,
            title: `A question of ${run ?? who}, put before whoever sits`,
            more: `since ${new Date(asked_at).toLocaleString()}`,
            open: () => page.sit(),
          })),
        ]}
      />
      {page.ends.length > 0 && <Earlier page={page} />}
    </>
  )
}

const Earlier = ({ page }: ViewProps) => (
  <List
    label="Earlier"
    rows={page.ends.slice(0, 20).map(({ id, tool, title, outcome, ended }) => ({
      key: id,
      lead: tool,
      title,
      more: `${outcome.replaceAll('_', ' ')}${ended?.undo ? ', can be undone' : ''}`,
      open: () => page.open(id),
    }))}
  />
)

/** A plan that cannot be read without a seat. */
const Closed = ({ page, title }: ViewProps & { title: string }) => (
  <section aria-label="Plan">
    <h2>{inLine(title)}</h2>
    <p class="quiet">It is shown once this page sits.</p>
    <Acts of={[['Back', 'q', () => page.open(undefined)]]} />
  </section>
)

function EndedPlan({ page, end: { title, outcome, why, ended } }: ViewProps & { end: Ended }) {
  const undo = ended?.undo ?? null
  // The change is taken back by a plan of its own, which is answered here, too.
  const take = (change: string) => {
    page.call('undo_change', { change }).then(
      envelope => envelope.ok || page.say(envelope.error.message),
      error => page.say(error.message),
    )
    page.open(undefined)
  }
  return (
    <section aria-label="Plan">
      <h2>{title}</h2>
      <p role="status">
        <b>{outcome.replaceAll('_', ' ')}</b> {why} {ended !== undefined && `It ended: ${ended.outcome}.`}
      </p>
      <Acts
        of={[
          undo !== null && [`Undo ${undo}`, 'u', () => take(undo)],
          ['Back', 'q', () => page.open(undefined)],
        ]}
      />
    </section>
  )
}

/** A hunk that is not in it is undecided. */
type Decisions = ReadonlyMap<number, Choice>

/** Nothing counts before a person can have seen what is there, in milliseconds. */
const STILL_MS = 150

function OpenPlan({ page, plan }: ViewProps & { plan: Waiting }) {
  const answer = useAnswer(() => page.client.request('plan', { plan: plan.id }), [plan.id, plan.hash])
  const shown = answer !== undefined && 'result' in answer ? answer.result : undefined
  const isThere = shown !== undefined && shown.body !== null
  const [isStill, still] = useState(false)
  useEffect(() => {
    if (!isThere) return
    const timer = setTimeout(() => still(true), STILL_MS)
    return () => clearTimeout(timer)
  }, [isThere])
  useKeys(1, { q: () => page.open(undefined) })
  return (
    <article aria-label="Plan" aria-busy={!isStill} class="plan">
      <header>
        <h2>{plan.title}</h2>
        {plan.warnings.map(warning => (
          <p key={warning} class="warning" role="alert">
            LOOK: {warning}
          </p>
        ))}
        <dl class="facts">
          <Fact name="asks" text={plan.who} />
          <Fact name="tool" text={plan.kernel === null ? plan.tool : `${plan.tool} in ${plan.kernel}`} />
          {plan.times > 1 && <Fact name="asked" text={`${plan.times} times by now`} />}
          {plan.notes.map(note => (
            <Fact key={note} name="note" text={note} />
          ))}
        </dl>
        {plan.rule !== null && (
          <details>
            <summary>The rule by which nobody would be asked any more</summary>
            <Code text={plan.rule} />
          </details>
        )}
      </header>
      <Pending answer={answer} what="the plan" />
      {shown !== undefined && isThere && <Answers page={page} plan={plan} shown={shown} isStill={isStill} />}
      {shown?.code && (
        <p class="quiet">
          For a script: imago approve {plan.id} --code <code>{shown.code}</code>
        </p>
      )}
    </article>
  )
}

const Fact = ({ name, text }: { name: string; text: string }) => (
  <div>
    <dt>{name}</dt>
    <dd>{text}</dd>
  </div>
)

interface AnswersProps extends ViewProps {
  readonly plan: Waiting
  readonly shown: Plan
  readonly isStill: boolean
}

function Answers({ page, plan, shown, isStill }: AnswersProps) {
  const send = (answer: Omit<Answering, 'plan' | 'hash'>) => {
    if (!isStill) return
    page.client.request('answer', { plan: plan.id, hash: plan.hash, ...answer }).then(
      outcome => page.say(OUTCOMES[outcome.type] + ('why' in outcome ? ` ${outcome.why}` : '')),
      error => page.say(error.message),
    )
  }
  return shown.hunks.length > 0 ? (
    <Hunks page={page} plan={plan} shown={shown} send={send} />
  ) : (
    <Whole page={page} plan={plan} shown={shown} send={send} />
  )
}

const OUTCOMES = {
  taken: 'The answer counts.',
  late: 'Somebody else was faster.',
  unknown: 'That plan waits no more.',
  wrong_hash: 'The plan has changed. Nothing was answered.',
  wrong_code: 'The code is wrong.',
  unfit: 'That does not fit the plan, which goes on waiting.',
} as const

type Send = { send(answer: Omit<Answering, 'plan' | 'hash'>): void }

/** A plan that is taken or left as a whole. */
function Whole({ page, plan, shown, send }: Omit<AnswersProps, 'isStill'> & Send) {
  const [doing, set] = useState<'deny' | 'edit'>()
  return (
    <>
      <Diff text={shown.body ?? ''} isDiff={plan.kernel === null} />
      <Acts
        depth={2}
        of={[
          ['Approve', 'y', () => send({ decision: 'approve' }), true],
          ['Deny', 'n', () => set('deny')],
          shown.args !== null && ['Edit the arguments', 'e', () => set('edit')],
          ['Leave it waiting', 'q', () => page.open(undefined)],
        ]}
      />
      <Grants plan={plan} send={send} />
      {doing === 'deny' && (
        <Reason
          done={reason => send({ decision: 'deny', ...(reason !== null && { reason }) })}
          leave={() => set(undefined)}
        />
      )}
      {doing === 'edit' && (
        <Editor
          label="The arguments, as JSON. They become a plan of their own"
          text={JSON.stringify(shown.args, undefined, 2)}
          fault={text => (isJson(text) ? null : 'That is no JSON object.')}
          done={text => send({ decision: 'edit', args: JSON.parse(text) })}
          leave={() => set(undefined)}
        />
      )}
    </>
  )
}

function Grants({ plan, send }: { plan: Waiting } & Send) {
  if (plan.grants.length === 0) return null
  return (
    <details>
      <summary>Approve, and let similar calls through until this seat is left</summary>
      <Acts of={plan.grants.map(grant => [grant, '', () => send({ decision: 'approve', grant })] as const)} />
    </details>
  )
}

function isJson(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
  } catch {
    return false
  }
}

function Hunks({ page, plan, shown, send }: Omit<AnswersProps, 'isStill'> & Send) {
  const { hunks } = shown
  const [decisions, decide] = useState<Decisions>(new Map())
  const [at, move] = useState(0)
  const [doing, set] = useState<'refuse' | 'refuse the rest' | 'edit'>()
  const list = useRef<HTMLOListElement>(null)
  const here = hunks[at]
  const isOver = decisions.size === hunks.length
  const besides = useMemo(() => outside(shown), [shown])
  const end = useRef<HTMLElement>(null)
  useEffect(() => end.current?.scrollIntoView({ block: 'nearest' }), [isOver])

  const go = (index: number) => {
    set(undefined)
    move(index)
    list.current?.children[index]?.scrollIntoView({ block: 'nearest' })
  }
  const next = (from: Decisions, step: 1 | -1 = 1) => {
    for (let n = 1; n <= hunks.length; n++) {
      const index = (at + step * n + hunks.length) % hunks.length
      if (!from.has(hunks[index]?.number ?? 0)) return go(index)
    }
    set(undefined)
  }
  const take = (...choices: readonly Choice[]) => {
    const made = new Map([...decisions, ...choices.map(choice => [choice.hunk, choice] as const)])
    decide(made)
    next(made)
  }
  const rest = (choice: (hunk: number) => Choice) =>
    hunks.filter(({ number }) => !decisions.has(number)).map(({ number }) => choice(number))
  const back = () => {
    const last = [...decisions.keys()].at(-1)
    if (last === undefined) return
    const fewer = new Map(decisions)
    fewer.delete(last)
    decide(fewer)
    go(hunks.findIndex(({ number }) => number === last))
  }
  const sendAll = () =>
    send({
      decision: 'choose',
      choices: hunks.flatMap(({ number }) => decisions.get(number) ?? []),
    })
  const acts: readonly Act[] = isOver
    ? [
        ['Send', 'y', sendAll, true],
        ['Go back', 'n', back],
      ]
    : [
        ['Take', 'y', () => here && take({ hunk: here.number, decision: 'accept' }), true],
        ['Refuse', 'n', () => set('refuse')],
        ['Edit', 'e', () => set('edit')],
        ['Take the rest', 'a', () => take(...rest(hunk => ({ hunk, decision: 'accept' })))],
        ['Refuse the rest', 'd', () => set('refuse the rest')],
        ['Leave it waiting', 'q', () => page.open(undefined)],
      ]
  useKeys(2, {
    j: () => next(decisions),
    k: () => next(decisions, -1),
    J: () => go(Math.min(at + 1, hunks.length - 1)),
    K: () => go(Math.max(at - 1, 0)),
  })
  return (
    <>
      {besides !== '' && (
        <details open={besides.length < 4_000}>
          <summary>What it was computed from, and what it says besides</summary>
          <Code text={besides} />
        </details>
      )}
      <ol class="hunks" ref={list} aria-label="Hunks">
        {hunks.map((hunk, index) => (
          <HunkView
            key={hunk.number}
            hunk={hunk}
            of={hunks.length}
            choice={decisions.get(hunk.number)}
            isHere={index === at && !isOver}
            come={() => go(index)}
          />
        ))}
      </ol>
      {isOver && (
        <section class="card" aria-label="What will be done" role="status" ref={end}>
          <h3>What will be done</h3>
          <ul>
            {hunks.map(hunk => (
              <li key={hunk.number}>{decidedText(hunk, decisions.get(hunk.number))}</li>
            ))}
          </ul>
        </section>
      )}
      <Acts depth={2} of={acts} />
      <Grants plan={plan} send={send} />
      {here !== undefined && (doing === 'refuse' || doing === 'refuse the rest') && (
        <Reason
          done={reason => {
            const refuse = (hunk: number) => ({ hunk, decision: 'refuse', reason }) as const
            take(...(doing === 'refuse' ? [refuse(here.number)] : rest(refuse)))
          }}
          leave={() => set(undefined)}
        />
      )}
      {here !== undefined && doing === 'edit' && (
        <Editor
          key={here.number}
          label={`What is to be in ${here.shown} from line ${here.line} on`}
          text={here.after}
          done={text =>
            take(
              text === here.after
                ? { hunk: here.number, decision: 'accept' }
                : { hunk: here.number, decision: 'edit', text: wholeLines(text, here), reason: null },
            )
          }
          leave={() => set(undefined)}
        />
      )}
    </>
  )
}

/** A text field has LF alone; the daemon writes the line ends of the file. */
const wholeLines = (text: string, { isLast = false }: Hunk): string =>
  text === '' || text.endsWith('\n') || isLast ? text : `${text}\n`

/** What the preview says besides its hunks; all of it where they cannot be told from it. */
function outside({ body, hunks }: Plan): string {
  let rest = body ?? ''
  for (const { diff } of hunks) {
    const at = rest.indexOf(diff)
    if (at < 0) return body ?? ''
    rest = rest.slice(0, at) + rest.slice(at + diff.length)
  }
  return rest.trim()
}

function decidedText({ number, shown, line }: Hunk, choice: Choice | undefined): string {
  const where = `hunk ${number} (${shown}:${line})`
  if (choice?.decision === 'accept') return `${where} is taken`
  if (choice?.decision === 'edit') return `${where} is taken as edited`
  return `${where} is refused${choice?.reason ? `: ${inLine(choice.reason)}` : ''}`
}

const SIGNS = { accept: '✓ taken', refuse: '✗ refused', edit: '✎ edited' } as const

interface HunkProps {
  readonly hunk: Hunk
  readonly of: number
  readonly choice: Choice | undefined
  readonly isHere: boolean
  come(): void
}

function HunkView({ hunk, of, choice, isHere, come }: HunkProps) {
  const shown = useMemo(
    () => <Diff text={choice?.decision === 'edit' ? edited(hunk, choice.text) : hunk.diff} isDiff />,
    [hunk, choice],
  )
  return (
    <li class={`hunk ${isHere ? 'here' : ''} ${choice?.decision ?? ''}`} aria-current={isHere}>
      <button type="button" class="hunk-head" onClick={come}>
        <b>
          {hunk.number}/{of} {hunk.shown}:{hunk.line}
        </b>
        <span class="sign">{choice === undefined ? '· undecided' : SIGNS[choice.decision]}</span>
        {hunk.why !== null && <span class="why">{hunk.why}</span>}
      </button>
      {shown}
    </li>
  )
}

const edited = ({ before }: Hunk, text: string): string =>
  marked(before).replace(/^(?=.)/gm, '-') + marked(text).replace(/^(?=.)/gm, '+')

/** A reason for the model; empty gives none. */
function Reason({ done, leave }: { done(reason: string | null): void; leave(): void }) {
  const field = useRef<HTMLInputElement>(null)
  useLayoutEffect(() => field.current?.focus(), [])
  return (
    <form
      class="card"
      onSubmit={event => {
        event.preventDefault()
        done(field.current?.value.trim() || null)
      }}
    >
      <label>
        Why? The model is told; Enter alone gives no reason.
        <input ref={field} maxLength={2_000} onKeyDown={event => event.key === 'Escape' && leave()} />
      </label>
    </form>
  )
}

interface EditorProps {
  readonly label: string
  readonly text: string
  /** Why a text cannot be used. */
  fault?(text: string): string | null
  done(text: string): void
  leave(): void
}

function Editor({ label, text: given, fault = () => null, done, leave }: EditorProps) {
  const field = useRef<HTMLTextAreaElement>(null)
  const [text, set] = useState(given)
  const [why, tell] = useState<string | null>(null)
  const hidden = hiddenIn(text)
  useLayoutEffect(() => field.current?.focus(), [])
  const use = () => {
    const wrong = fault(text)
    tell(wrong)
    if (wrong === null) done(text)
  }
  return (
    <section class="card">
      <label>
        {label}; Ctrl-Enter uses it
        <textarea
          ref={field}
          spellcheck={false}
          rows={Math.min(30, Math.max(4, given.split('\n').length + 1))}
          value={text}
          onInput={({ currentTarget }) => set(currentTarget.value)}
          onKeyDown={event => {
            if (event.key === 'Escape') leave()
            if (event.key === 'Enter' && event.ctrlKey) use()
          }}
        />
      </label>
      {hidden.length > 0 && <p class="warning">Characters that are not seen are in it: {hidden.join(' ')}</p>}
      {why !== null && <p class="bad">{why}</p>}
      <Acts
        of={[
          ['Use it', '', use, true],
          ['Leave it as it is', '', leave],
        ]}
      />
    </section>
  )
}
