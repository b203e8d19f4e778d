import type { Frame, Stack } from '../wire/kernel.ts'
import { counted, placeOf } from './naming.ts'
import { indent, oneLine } from './wording.ts'

/** Stacks as people know them from a dump of threads: who it is, what it waits for, and where it stands. */

/** `Thread "MainThread" (main), waiting for a lock`, and its frames, innermost last. */
export function stackLines(kind: 'Thread' | 'Task', stack: Stack): string[] {
  const { frames, frames_omitted } = stack
  const gap = frames_omitted === 0 ? [] : [`(${counted(frames_omitted, 'frame')} in the middle left out)`]
  const lines = frames.length === 0 ? ['(no frames to be seen)'] : frames.flatMap(frameLines)
  return [headline(kind, stack), ...[...gap, ...lines].map(indent)]
}

function headline(kind: 'Thread' | 'Task', { names, count, role, state, waits_for }: Stack): string {
  const quoted = names.map(name => JSON.stringify(name)).join(', ')
  const more = count > names.length ? ', …' : ''
  const who = count === 1 ? `${kind} ${quoted}` : `${count} ${kind.toLowerCase()}s ${quoted}${more}`
  const whose = ROLES[role] === '' ? '' : ` (${ROLES[role]})`
  const what = waits_for === null || state !== 'waiting' ? state : `waiting for ${oneLine(waits_for)}`
  return `${who}${whose}, ${what}`
}

const ROLES: Readonly<Record<Stack['role'], string>> = {
  main: 'main',
  evaluating: 'evaluates for a caller',
  imago: 'Imago’s own',
  user: '',
}

/** `shop/orders.py:12 in total`, below it the line of source, and below that the locals. */
export function frameLines(frame: Frame): string[] {
  const { function: name, source, locals, locals_omitted, repeated = 1 } = frame
  const place = placeOf(frame)
  const times =
    repeated === 1 ? '' : ` × ${repeated}${locals.length === 0 ? '' : ', the innermost with its locals'}`
  const lines = [`${place === '' ? '' : `${place} `}in ${oneLine(name)}${times}`]
  if (source !== null && source.trim() !== '') lines.push(`  ${oneLine(source.trim())}`)
  lines.push(...locals.map(local => `    ${oneLine(local.name)} = ${oneLine(local.repr)}`))
  if (locals_omitted > 0)
    lines.push(
      `    ${locals.length === 0 ? '' : 'and '}${counted(locals_omitted, 'local')}${locals.length === 0 ? ' not shown' : ' more'}`,
    )
  return lines
}
