import { escapeLine } from '../../text/escape.ts'
import type { SeatEvent } from '../protocol.ts'

/** What a seat tells its editor; `left`, as the last, why it is over, or null where the editor left it. */
export type SeatTold = SeatEvent | { readonly type: 'left'; readonly why: string | null }

/** The same event with its sentence for the person. */
export const seatInWords = <Told extends SeatTold>(told: Told): Told & { readonly shown: string } => ({
  ...told,
  shown: escapeLine(seatLine(told)),
})

function seatLine(told: SeatTold): string {
  switch (told.type) {
    case 'asked':
      return told.seats.length === 0
        ? `To let this editor sit, type in a terminal: imago seat ${told.code}. The code holds for a minute.`
        : `Within a minute, say yes to the code ${told.code} in ${told.seats.map(({ root, who }) => `${root} (${who})`).join(', or in ')}.`
    case 'seated':
      return `seated ${told.who}${told.trouble === null ? '' : `. ${told.trouble}`}`
    case 'left':
      return `the seat was left${told.why === null ? '' : `: ${told.why}`}`
    default:
      return told satisfies never
  }
}
