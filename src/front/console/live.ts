/**
 * What running code prints, as it comes. Whole lines are done with; the line that has begun can still be printed over
 * by a carriage return, as progress bars do, and stays within itself.
 */
export class Live {
  #begun = ''
  #again = false

  /** The line that has begun. */
  get begun(): string {
    return this.#begun
  }

  /** Takes more, and returns the lines that are whole now. */
  push(text: string): string {
    const lines = text.split('\n')
    let whole = ''
    lines.forEach((line, index) => {
      this.#add(line)
      if (index < lines.length - 1) whole += this.#end()
    })
    return this.#begun.length > MOST ? whole + this.#end() : whole
  }

  /** The line that has begun, ended; nothing where none has. */
  close(): string {
    return this.#begun === '' ? '' : this.#end()
  }

  /** The line that has begun is somebody else's now: the prompt of a question. */
  take(): string {
    const begun = this.#begun
    this.#end()
    return begun
  }

  #end(): string {
    const line = `${this.#begun}\n`
    this.#begun = ''
    this.#again = false
    return line
  }

  #add(line: string): void {
    line.split('\r').forEach((piece, index) => {
      if (index > 0) this.#again = true
      if (piece === '') return
      this.#begun = this.#again ? piece : this.#begun + piece
      this.#again = false
    })
  }
}

/** Characters of a line after which it is ended, so that it can be printed. */
const MOST = 16_384
