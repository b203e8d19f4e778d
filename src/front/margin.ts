import type { Printer } from './terminal.ts'

/** Prints for a person, and knows whether the line that the cursor stands in has begun. */
export interface Margin extends Printer {
  /** Ends a line that has begun, so that what follows neither joins nor erases it. */
  toMargin(): void
  /**
   * What to show for a question: the line that has begun, and the prompt unless it has been printed already. The
   * answer ends that line. Where it is so wide that it may fill rows, it is ended first.
   */
  asking(prompt: string): string
}

export function keepMargin(printer: Printer, terminal: Pick<NodeJS.WriteStream, 'columns'>): Margin {
  let begun = ''

  function heard(text: string) {
    const end = text.lastIndexOf('\n') + 1
    // More of it than any row holds is not needed to know that it is too wide.
    begun = `${end === 0 ? begun : ''}${text.slice(end)}`.slice(0, WIDE)
  }
  const toMargin = () => {
    if (begun !== '') printer.out('\n')
    begun = ''
  }
  return {
    out(text) {
      printer.out(text)
      heard(text)
    },
    err(text) {
      printer.err(text)
      heard(text)
    },
    toMargin,
    asking(prompt) {
      // A character may be two columns wide, and a control is shown as four.
      if (begun.length * 4 >= (terminal.columns || 80)) toMargin()
      const line = begun.endsWith(prompt) ? begun : begun + prompt
      begun = ''
      return line
    },
  }
}

const WIDE = 4_096
