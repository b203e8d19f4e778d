import { openSlimeEmacs, type SlimeEmacs } from '../../test/support/slime-emacs.ts'
import { pause } from '../daemon.ts'
import { roundsFor, sharedGround } from '../ground.ts'
import { openSwankImage } from '../reference/swank.ts'
import { median, type Row } from '../row.ts'

const NAME = 'bench-slime'

/** What keys of SLIME ask for: a value, the line of arguments in the echo area, completions. */
const KEYS = {
  eval: '(swank:eval-and-grab-output "(+ 1 2)")',
  arglist: '(swank:operator-arglist "make-array" "CL-USER")',
  complete: '(swank:simple-completions "make-" "CL-USER")',
} as const
const LOOKS = [
  ['inspect', { expr: '*features*' }],
  ['list_globals', { package: 'SWANK', detail: 'docs' }],
  ['threads', {}],
  ['eval_expr', { expr: '(+ 1 2)' }],
] as const
const EACH = 300

let emacs: SlimeEmacs
const ground = sharedGround(async daemon => {
  const images = await Promise.all([openSwankImage(), openSwankImage()])
  const [image, twin] = images
  emacs = await openSlimeEmacs()
  await emacs.connect(image.port)
  await emacs.eval('(progn (setq imago-bench-image (slime-connection)) t)')
  await emacs.connect(twin.port)
  await emacs.eval('(progn (setq imago-bench-twin (slime-connection)) t)')
  const target = `swank://127.0.0.1:${image.port}`
  await daemon.link.call('attach', { target, name: NAME, no_secret: true })
  return () => {
    void emacs.kill()
    for (const each of images) each.close()
  }
})

const lifeFor = roundsFor(['idle', 'looking'], async () => ({
  idle: await phase(),
  looking: await looking(phase),
}))

/** Of each key: the median of its round trips in Emacs, in the image that Imago is attached to and in its twin, in µs. */
async function phase(): Promise<Record<string, number>> {
  const parts: Record<string, number> = {}
  for (const [key, form] of Object.entries(KEYS)) {
    const [image, twin] = await roundTrips(form)
    parts[`${key}_us`] = image
    parts[`${key}_twin_us`] = twin
    parts[`${key}_ratio`] = image / twin
  }
  return parts
}

/** Medians in the image and in its twin as `slime-eval` has them in Emacs itself, in µs; in turn, and either first. */
async function roundTrips(form: string): Promise<[number, number]> {
  const told = await emacs.eval(
    `(let ((both (list imago-bench-image imago-bench-twin)) (times (list nil nil))) (dotimes (i ${EACH})` +
      ' (dolist (at (if (cl-evenp i) (list 0 1) (list 1 0)))' +
      ' (let ((slime-dispatching-connection (nth at both)) (begun (float-time)))' +
      ` (slime-eval '${form}) (push (* 1e6 (- (float-time) begun)) (nth at times))))) times)`,
  )
  const [image = [], twin = []] = told
    .slice(2, -2)
    .split(') (')
    .map(times => times.split(' ').map(Number))
  return [median(image), median(twin)]
}

/** Looks into the image 20 times a second while `body` goes on. */
async function looking<Value>(body: () => Promise<Value>): Promise<Value> {
  let going = true
  const looks = (async () => {
    for (let turn = 0; going; turn++) {
      const [tool, args] = LOOKS[turn % LOOKS.length] ?? LOOKS[0]
      await ground.daemon.call(tool, { ...args, kernel: NAME })
      await pause(50)
    }
  })()
  try {
    return await body()
  } finally {
    going = false
    await looks
  }
}

/** The geometric mean of the ratios of all keys. */
const slower = (parts: Readonly<Record<string, number>>) => {
  const ratios = Object.keys(KEYS).map(key => parts[`${key}_ratio`] ?? Number.NaN)
  return ratios.reduce((product, ratio) => product * ratio, 1) ** (1 / ratios.length)
}

const HOW =
  'round trips of `slime-eval` in a real Emacs: an evaluation, an arglist, completions, 300 of each, one in turn with one in a twin image that nobody has attached; medians, and the geometric mean of the three ratios'

export const slimeIdle: Row = {
  what: 'SLIME’s keys in an image that Imago is attached to, idle, against one that it is not',
  how: HOW,
  bar: { relation: '≤', limit: 1.1, unit: '×' },
  setUp: ground.setUp,
  tearDown: ground.tearDown,
  async measure() {
    const { idle } = await lifeFor('idle')
    return { figure: slower(idle), parts: idle }
  },
}

export const slimeLooking: Row = {
  what: 'the same while Imago looks and evaluates there 20 times a second',
  how: 'in the same rounds: `inspect`, `list_globals` with docs, `threads` and `eval_expr` in turn, through the daemon',
  bar: { relation: '≤', limit: 1.25, unit: '×' },
  setUp: ground.setUp,
  tearDown: ground.tearDown,
  async measure() {
    const { looking } = await lifeFor('looking')
    return { figure: slower(looking), parts: looking }
  },
}
