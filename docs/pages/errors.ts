import { INTERNAL_REASONS, TOOL_ERRORS } from '../../tools/outcome.ts'
import { FAILURES } from '../../wire/codec/messages.ts'
import { WIRE_ERRORS } from '../../wire/errors.ts'
import { GENERATED, table } from './markdown.ts'

/** `docs/errors.md`: every code there is, from the tables in which they are defined. */
export function errorsPage(): string {
  return `${[
    '# Errors',
    GENERATED,
    'Codes are closed sets. Decide by the code, never by the text of a message: a message says what happened, to ' +
      'whom, and the next step, and may change with any version.',
    '## Codes of a call',
    'A call of a tool that does not succeed is answered with `{"ok": false, "error": {"code", "message", "details", ' +
      '"retryable", "next"}}`. Where a code can be tried again, the same call can succeed later without being changed.',
    table(
      ['Code', 'Try again', 'Meaning'],
      Object.entries(TOOL_ERRORS).map(([code, { retryable, meaning }]) => [
        code,
        retryable ? 'yes' : 'no',
        meaning,
      ]),
    ),
    '### Reasons of `internal`',
    'In `details.reason`.',
    table(['Reason', 'Meaning'], Object.entries(INTERNAL_REASONS)),
    '## Faults of a link or a kernel process',
    'The `code` of a `WireError`, thrown by what is in `wire/`. A caller of a tool meets them only as one of the ' +
      'codes above.',
    table(['Code', 'Meaning'], Object.entries(WIRE_ERRORS)),
    '## Failures on the wire',
    'The `code` of a `fail` message, with which one end of a link answers a call of the other (see `docs/wire.md`). ' +
      'An end may use words of its own besides these.',
    table(['Code', 'Meaning'], Object.entries(FAILURES)),
  ].join('\n\n')}\n`
}
