import { redraft } from '../person-editor.ts'
import type { Completing } from './completing.ts'
import type { Edit } from './edit.ts'
import { Editor, type Wish } from './editor.ts'
import type { History } from './history.ts'
import type { Offers } from './menu.ts'
import { enteredSpans, paintEditor } from './paint.ts'
import type { Actor, Stage } from './stage.ts'
import { looking, plain, prose, type Span } from './style.ts'
import type { Syntax } from './syntax.ts'

export interface EnteringParts {
  readonly stage: Stage
  readonly history: History
  readonly syntax: Syntax
  readonly completing: Completing
  /** What stands before the text. */
  readonly prompt: string
  highlight(text: string): Span[]
  highlightAt(text: string, cursor: number): Span[]
  readonly commands: Commanding
}

/** What the editor asks of the commands that begin with a colon. */
export interface Commanding {
  hint(text: string): string
  complete(edit: Edit): Promise<Offers | undefined>
}

export interface Entering {
  /** What the person enters next; undefined at the end. */
  next(): Promise<string | undefined>
}

/** How long typing must rest before the image is asked what a call takes, in milliseconds. */
const REST_MS = 80

export function openEntering(parts: EnteringParts): Entering {
  const { stage, history, completing, commands } = parts
  const isCommand = (text: string) => /^\s*:/.test(text)
  const colour = (text: string) => (isCommand(text) ? [looking('decorator', text)] : parts.highlight(text))
  const editor = new Editor({
    get syntax() {
      return parts.syntax
    },
    history: () => history.entries,
    columns: () => stage.size.columns,
    suggests: true,
  })
  let settle = (_entry: string | undefined) => {}
  let timer: NodeJS.Timeout | undefined
  /** The call whose signature is shown, as far as the text tells. */
  let asked = ''

  /** What was entered stays on the screen, wrapped by the terminal. */
  function leave(text: string, end: readonly Span[]) {
    clearTimeout(timer)
    asked = ''
    stage.leave([...enteredSpans(text, { highlight: colour, prompt: parts.prompt }), ...end])
  }

  const actor: Actor = {
    press(key) {
      const wish = editor.press(key)
      if (wish !== undefined) grant(wish)
      if (wish === undefined || wish.type === 'complete') follow()
    },
    paint: () =>
      paintEditor(editor, {
        size: stage.size,
        palette: stage.palette,
        prompt: parts.prompt,
        highlight: (text, cursor) => (isCommand(text) ? colour(text) : parts.highlightAt(text, cursor)),
        hint: text => commands.hint(text),
      }),
  }

  function grant(wish: Wish) {
    switch (wish.type) {
      case 'run':
        leave(wish.text.trimEnd(), [plain('\n')])
        history.add(wish.text)
        return settle(wish.text)
      case 'drop':
        leave(editor.edit.text, [looking('hint', '^C'), plain('\n')])
        editor.begin()
        return stage.take(actor)
      case 'end':
        leave('', [plain('\n')])
        return settle(undefined)
      case 'complete':
        return void complete(editor.edit)
      case 'suspend':
        return stage.suspend()
      case 'clear':
        return stage.clear()
      case 'write elsewhere':
        return void writeElsewhere()
      default:
        return wish satisfies never
    }
  }

  /** The text stays as it is where the editor does not end well. */
  async function writeElsewhere() {
    const { text } = editor.edit
    const written = await stage.lend(() => redraft({ text, name: 'entry.py' }))
    editor.begin(written.type === 'text' ? written.text.trimEnd() : text)
    if (written.type === 'failed') stage.print([prose('hint', `${written.why}\n`)])
    stage.repaint()
  }

  async function complete(edit: Edit) {
    const offers = isCommand(edit.text)
      ? await commands.complete(edit)
      : (await completing.complete(edit))?.offers
    if (offers === undefined || editor.edit.text !== edit.text || editor.edit.cursor !== edit.cursor) return
    editor.offer(offers)
    stage.repaint()
  }

  /** Asks about the call that the cursor stands in, once it is another one, or another argument of it. */
  function follow() {
    const { text, cursor } = editor.edit
    const call = isCommand(text) ? '' : parts.syntax.call(text.slice(0, cursor))
    if (call === asked) return
    asked = call
    clearTimeout(timer)
    if (call === '') return editor.calls(undefined)
    timer = setTimeout(() => void look(editor.edit, call), REST_MS)
  }

  async function look(edit: Edit, call: string) {
    const known = await completing.complete(edit)
    if (asked !== call) return
    // Something else was asked meanwhile, such as with Tab: the next key asks again.
    if (known === undefined) asked = ''
    else editor.calls(known.callee)
    stage.repaint()
  }

  return {
    next() {
      editor.begin()
      return new Promise(resolve => {
        settle = entry => {
          stage.act(undefined)
          resolve(entry)
        }
        stage.act(actor)
      })
    },
  }
}
