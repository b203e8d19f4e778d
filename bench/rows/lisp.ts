import { type BenchDaemon, pause, processorSeconds } from '../daemon.ts'
import { sharedGround } from '../ground.ts'
import { attachedSwank, type BareSwank, openSwankImage, type SwankImage } from '../reference/swank.ts'
import { interleaved, median, type Row, ratio } from '../row.ts'

const NAME = 'bench-lisp'
const LIST = '(defparameter cl-user::*ten-thousand* (loop for i below 10000 collect i))'

/** One image for most rows: the daemon is attached to it, and the bare client asks the same image beside it. */
let bare: BareSwank
const ground = sharedGround(async daemon => {
  const { client, end } = await attachedSwank(daemon, { name: NAME, forms: [LIST] })
  bare = client
  await warm(daemon, client)
  return end
})

/** An image that nothing else is asked of: after larger requests what one takes differs by some pages, with us or without. */
let idle: BareSwank
const quietGround = sharedGround(async daemon => {
  const { client, end } = await attachedSwank(daemon, { name: NAME })
  idle = client
  await warm(daemon, client)
  return end
})

const EVALUATE = '(swank:eval-and-grab-output "(+ 1 2)")'

const ask = (daemon: BenchDaemon, tool: string, args: Readonly<Record<string, unknown>>) =>
  daemon.call(tool, { ...args, kernel: NAME })

async function warm(daemon: BenchDaemon, client: BareSwank): Promise<void> {
  for (let time = 0; time < 200; time++) {
    await ask(daemon, 'eval_expr', { expr: '(+ 1 2)' })
    await client.ask(EVALUATE)
  }
}

export const lispEvaluation: Row = {
  what: 'one evaluation on Swank through the daemon, journalled, p50, against a bare Swank client behind a bare hop',
  how: '`(+ 1 2)`, 300 times each in alternating blocks of 20, in the same SBCL: client → daemon → Swank → back against client → bare Node hop → Swank’s own `eval-and-grab-output` → back',
  bar: { relation: 'stated', unit: '×' },
  setUp: ground.setUp,
  tearDown: ground.tearDown,
  async measure() {
    const { daemon } = ground
    const [ours = [], theirs = []] = await interleaved(
      { blocks: 15, each: 20 },
      () => ask(daemon, 'eval_expr', { expr: '(+ 1 2)' }),
      () => bare.ask(EVALUATE),
    )
    const [ours_us, reference_us] = [median(ours), median(theirs)]
    return ratio(ours_us, reference_us, { ours_us, reference_us })
  },
}

/** What a large look costs beside the request of Swank's that is nearest to it. */
const LARGE = [
  // Swank's own fails at "" where a package has a symbol without a home, as one of ASDF's has.
  ['apropos', 'apropos_search', { filter: 'e' }, '(swank:apropos-list-for-emacs "e" nil nil nil)'],
  [
    'symbols',
    'list_globals',
    { package: 'COMMON-LISP', detail: 'docs' },
    '(swank:simple-completions "" "COMMON-LISP")',
  ],
  [
    'inspect',
    'inspect',
    { expr: 'cl-user::*ten-thousand*' },
    '(swank:init-inspector "cl-user::*ten-thousand*")',
  ],
] as const

export const lispLooks: Row = {
  what: 'large looks into a Lisp image: the slowest of them beside Swank’s own request for the same',
  how: 'through the daemon: `apropos_search` of "e", `list_globals` with docs of COMMON-LISP, `inspect` of a list of 10,000; through the bare client: `apropos-list-for-emacs` of "e", all completions in COMMON-LISP, `init-inspector` of the same list; 6 times each in turn, medians. Ours answer a page and say how many there are; Swank’s answer all, or the first 500',
  bar: { relation: '≤', limit: 2, unit: '×' },
  setUp: ground.setUp,
  tearDown: ground.tearDown,
  async measure() {
    const { daemon } = ground
    const parts: Record<string, number> = {}
    let figure = 0
    for (const [name, tool, args, form] of LARGE) {
      const [ours = [], theirs = []] = await interleaved(
        { blocks: 3, each: 2 },
        () => ask(daemon, tool, args),
        () => bare.ask(form),
      )
      parts[`${name}_ms`] = median(ours) / 1000
      parts[`${name}_swank_ms`] = median(theirs) / 1000
      figure = Math.max(figure, median(ours) / median(theirs))
    }
    return { figure, parts }
  },
}

/** An image that the daemon was attached to once before. */
let image: SwankImage
const attachTo = (daemon: BenchDaemon) =>
  daemon.link.call('attach', {
    target: `swank://127.0.0.1:${image.port}`,
    name: 'bench-again',
    no_secret: true,
  })
const againGround = sharedGround(async daemon => {
  image = await openSwankImage()
  await attachTo(daemon)
  await daemon.link.call('detach', { name: 'bench-again' })
  return () => image.close()
})

export const lispAttachAgain: Row = {
  what: 'attaching to a Lisp image a second time: processor time of the image',
  how: 'an SBCL that the daemon was attached to before and left again: processor time of the process from `attach` to its answer and the first evaluation, as the system counts it, in steps of 10 ms',
  bar: { relation: '≤', limit: 0.25, unit: 's' },
  setUp: againGround.setUp,
  tearDown: againGround.tearDown,
  async measure() {
    const { daemon } = againGround
    const before = processorSeconds(image.pid)
    await attachTo(daemon)
    await daemon.call('eval_expr', { expr: '(+ 1 2)', kernel: 'bench-again' })
    const image_s = processorSeconds(image.pid) - before
    await daemon.link.call('detach', { name: 'bench-again' })
    return { figure: image_s, parts: { image_s } }
  },
}

const IDLE_S = 12

export const lispIdle: Row = {
  what: 'an attached Lisp image: what it allocates by itself while nobody asks, per hour',
  how: `an image of its own that has answered 200 evaluations of each client: bytes consed over ${IDLE_S} s between two requests of the bare client, less the same with no time between them, brought to an hour; SBCL counts whole pages`,
  bar: { relation: '≤', limit: 0, unit: 'MB' },
  setUp: quietGround.setUp,
  tearDown: quietGround.tearDown,
  async measure() {
    const at_once = await allocated(0)
    const idle_bytes = await allocated(IDLE_S)
    const bytes = Math.max(0, idle_bytes - at_once)
    return { figure: (bytes * 3600) / IDLE_S / 1e6, parts: { at_once_bytes: at_once, idle_bytes } }
  },
}

async function allocated(seconds: number): Promise<number> {
  const consed = async () =>
    Number(/"(\d+)"/.exec(await idle.ask('(swank:eval-and-grab-output "(sb-ext:get-bytes-consed)")'))?.[1])
  const from = await consed()
  await pause(seconds * 1000)
  return (await consed()) - from
}
