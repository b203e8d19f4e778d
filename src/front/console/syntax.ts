/** What the editor must know of a language. All of it is by how text looks, and nothing is run. */
export interface Syntax {
  /** Whether Enter at the end of this text goes on to another line, because something in it is not complete. */
  goesOn(text: string): boolean
  /** Whether text that came as a whole, from a paste or from earlier, can be run as it stands. */
  isWhole(text: string): boolean
  /** What a new line is set in by, behind this text. */
  indent(before: string): string
  /** What is left of the blanks that a line begins with, one step less; undefined where there is something else. */
  dedent(before: string): string | undefined
  /**
   * Names the argument that the end of this text stands in, of the innermost call: another name for another one. It
   * is empty outside of calls.
   */
  call(before: string): string
  /** One step. */
  readonly step: string
}
