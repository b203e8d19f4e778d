import type { ExitCode } from '../../failure.ts'
import type { CommandInput } from '../commands.ts'
import { callTool } from './call.ts'

/** `imago undo NAME`: a call of `undo_change`, which a person is asked about: on the seats, or else at this terminal. */
export async function undo(input: CommandInput): Promise<ExitCode> {
  const [change = ''] = input.operands
  return callTool(
    { as: 'imago undo', tool: 'undo_change', args: { change }, answers: false, approves: true },
    input,
  )
}
