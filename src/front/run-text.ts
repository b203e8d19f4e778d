import { oneLine } from '../../tools/text.ts'
import type { Entry, EntryOf } from '../agent/entries.ts'
import { unmarked } from '../agent/guidance.ts'

/** What it says, and a line for each call: `> inspect {"expr":"next"}`. */
export function callLines({ said, content }: EntryOf<'answered'>): string[] {
  const calls = content.filter(part => part.type === 'call')
  if (calls.length === 0) return []
  const lines = calls.map(({ tool, args }) => `> ${tool} ${oneLine(JSON.stringify(args)).slice(0, 500)}`)
  return said.trim() === '' ? lines : [said.trim(), ...lines]
}

/** An entry for a person; empty where it says nothing to one. */
export function textOf(entry: Entry): string {
  switch (entry.type) {
    case 'begun':
      return `${entry.run}: ${entry.text}\n${entry.root}, ${entry.model}\n\n`
    case 'answered':
      return callLines(entry)
        .map(line => `${line}\n`)
        .join('')
    case 'ended':
      return `${entry.outcome === 'ok' ? '' : `${entry.outcome}\n`}${unmarked(entry.text).replace(/^/gm, '  ')}\n\n`
    case 'waits':
      return `waits for ${entry.for}\n`
    case 'model':
      return `goes on with ${entry.model}\n\n`
    case 'room':
      return `${entry.calls.length} old results made room\n\n`
    case 'over':
      return `${entry.why}\n${entry.text.trimEnd()}\n`
    case 'asked':
    case 'called':
    case 'told':
      return ''
    default:
      return entry satisfies never
  }
}
