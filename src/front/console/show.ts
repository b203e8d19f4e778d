import { duration } from '../../../tools/wording.ts'
import type { Question } from '../../../wire/kernel.ts'
import type { Key } from './keys.ts'
import { Live } from './live.ts'
import { paintAnswering, paintRunning } from './paint.ts'
import type { Actor, Stage } from './stage.ts'
import { plain, prose } from './style.ts'
import { Writer } from './writer.ts'

/** After so long it is said how long it has been running, in milliseconds, and so often what is said changes. */
const QUIET_MS = 2_000
const TICK_MS = 1_000
/** Output is shown as it comes, and no more often than this. */
const FRAME_MS = 16

/** What is on the screen while something runs. */
export class Show {
  readonly #stage: Stage
  readonly #live = new Live()
  #waiting = ''
  #frame: NodeJS.Timeout | undefined
  #clock: NodeJS.Timeout | undefined
  #began = 0
  #note = ''
  #urgent = false
  #asks: string | undefined
  #over = false
  #runner: Actor | undefined
  /** Questions are put one after the other. */
  #asking: Promise<unknown> = Promise.resolve()

  constructor(stage: Stage) {
    this.#stage = stage
  }

  /** `note` is what the person can do about it. */
  begin({ note, interrupt }: { note: string; interrupt: () => void }): void {
    this.#note = note
    this.#began = performance.now()
    this.#clock = setTimeout(() => this.#tick(), QUIET_MS)
    this.#runner = {
      press: key => {
        if (isKey(key, 'ctrl-c')) interrupt()
        else if (isKey(key, 'ctrl-z')) this.#stage.suspend()
        else if (isKey(key, 'ctrl-l')) this.#stage.clear()
        else this.#stage.keepForLater(key)
      },
      paint: () => {
        const { size, palette } = this.#stage
        return paintRunning({ begun: this.#live.begun, status: this.#status(), size, palette })
      },
    }
    this.#stage.take(this.#runner)
  }

  output(text: string): void {
    this.#waiting += text
    if (this.#over) this.#flush()
    else this.#frame ??= setTimeout(() => this.#flush(), FRAME_MS)
  }

  say(text: string): void {
    this.#flush()
    this.#stage.print([prose('hint', text)])
  }

  interrupting(): void {
    this.#note = 'interrupting…'
    this.#urgent = true
    this.#stage.repaint()
  }

  /** Nothing runs yet: why not, and what the person can do about it. Undefined: it runs. */
  asks(note: string | undefined): void {
    this.#asks = note
    this.#stage.repaint()
  }

  waits(kernel: string): void {
    this.say(`waiting: ${kernel} is busy; Ctrl-C withdraws\n`)
  }

  /** What comes later is printed above whatever is there then. */
  end(): void {
    this.#flush()
    clearTimeout(this.#clock)
    this.#over = true
    this.#stage.leave([plain(this.#live.close())])
  }

  ask({ prompt, secret }: Question, interrupt: () => void): Promise<string> {
    const asked = this.#asking.then(() => this.#put({ prompt, secret, interrupt }))
    this.#asking = asked.catch(() => {})
    return asked
  }

  #put(o: { prompt: string; secret: boolean; interrupt: () => void }): Promise<string> {
    this.#flush()
    const begun = this.#live.take()
    const prompt = begun.endsWith(o.prompt) ? begun : begun + o.prompt
    const writer = new Writer()
    const stage = this.#stage
    return new Promise((resolve, reject) => {
      const finish = (end: string) => {
        stage.leave([plain(prompt + (o.secret ? '' : writer.edit.text) + end)])
        if (this.#runner !== undefined) stage.take(this.#runner)
      }
      const enter = (text: string) => {
        finish('\n')
        resolve(text)
      }
      stage.act({
        press(key) {
          if (key.type === 'text') writer.type(key.text)
          else if (key.type === 'paste') {
            const [line = '', ...others] = key.text.split('\n')
            writer.insert(line)
            if (others.length === 0) return
            const rest = others.join('\n')
            if (rest !== '') stage.putBack({ type: 'paste', text: rest })
            enter(writer.edit.text)
          } else if (key.name === 'enter' || key.name === 'ctrl-j') enter(writer.edit.text)
          else if (key.name === 'ctrl-z') stage.suspend()
          else if (key.name === 'tab') writer.insert('\t')
          else if (key.name === 'ctrl-c') {
            // The code that asked is interrupted, and no longer waits for an answer.
            finish('^C\n')
            o.interrupt()
          } else if (key.name === 'ctrl-d' && writer.edit.text === '') {
            finish('\n')
            reject(new Error('There is no more standard input.'))
          } else writer.press(key.name)
        },
        paint: () =>
          paintAnswering({
            prompt,
            edit: writer.edit,
            secret: o.secret,
            size: stage.size,
            palette: stage.palette,
          }),
      })
    })
  }

  #flush(): void {
    clearTimeout(this.#frame)
    this.#frame = undefined
    if (this.#waiting === '') return
    const whole = this.#live.push(this.#waiting)
    this.#waiting = ''
    this.#stage.print([plain(this.#over ? whole + this.#live.close() : whole)])
    this.#stage.repaint()
  }

  #tick(): void {
    this.#stage.repaint()
    this.#clock = setTimeout(() => this.#tick(), TICK_MS)
  }

  #status(): string {
    const elapsed = performance.now() - this.#began
    const asks = this.#urgent ? undefined : this.#asks
    if (asks !== undefined) return elapsed < QUIET_MS ? asks : `${waited(elapsed)} · ${asks}`
    if (elapsed < QUIET_MS && !this.#urgent) return ''
    return `${waited(elapsed)} · ${this.#note}`
  }
}

const waited = (elapsed: number) => duration(Math.floor(elapsed / 1_000) * 1_000)

const isKey = (key: Key, name: string) => key.type === 'key' && key.name === name
