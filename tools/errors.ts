/**
 * The closed table of error codes that a caller of a tool can meet. `docs/errors.md` is written from it.
 * `retryable` says whether the same call can succeed later without anything being changed in it.
 */
export const TOOL_ERRORS = {
  unknown_function: { retryable: false, meaning: 'There is no tool of that name.' },
  invalid_args: { retryable: false, meaning: 'The arguments do not fit the schema of the tool.' },
  exception: { retryable: false, meaning: 'The code ran and raised; its output up to then is kept.' },
  not_found: { retryable: false, meaning: 'Nothing has that name; `details.nearest` may help.' },
  needs_evaluation: {
    retryable: false,
    meaning: 'Only running code could tell, and this call may not run any.',
  },
  stale_handle: {
    retryable: false,
    meaning: 'The handle is of another epoch or project, or has made room for newer ones.',
  },
  unknown_job: { retryable: false, meaning: 'No job of that name is known to this project.' },
  interrupted: { retryable: false, meaning: 'The code was stopped on request; what it did before is done.' },
  left: {
    retryable: false,
    meaning:
      'The code ended without a value and without an error, for example by (abort). What it did before is done.',
  },
  withdrawn: { retryable: true, meaning: 'The call was cancelled before it started. Nothing ran.' },
  busy: {
    retryable: true,
    meaning: 'The kernel is occupied; nothing ran. `details` names what occupies it.',
  },
  unresponsive: {
    retryable: true,
    meaning: 'The kernel does not answer: its interpreter is held, or it is frozen.',
  },
  no_such_kernel: {
    retryable: false,
    meaning: 'No kernel of that name is known; `details.kernels` lists those of the project.',
  },
  kernel_unavailable: {
    retryable: true,
    meaning: 'The kernel could not be started, or has ended. Nothing ran.',
  },
  outcome_unknown: {
    retryable: false,
    meaning:
      'The kernel was lost while the call ran. It may or may not have had its effect. Imago never runs it again.',
  },
  not_available: { retryable: false, meaning: 'This kernel cannot do that; the tool is not listed for it.' },
  held_by_other: {
    retryable: false,
    meaning:
      'Somebody else owns the suspended evaluation and alone resumes it; `details.holder` says who. Nothing ran.',
  },
  denied: { retryable: false, meaning: 'The policy or a person refused the call. Nothing ran.' },
  approval_unavailable: {
    retryable: false,
    meaning: 'The call needs approval, and nobody can be asked. Nothing ran.',
  },
  approval_held: {
    retryable: true,
    meaning:
      'The call waits for a person, without end. The same call under the same name is answered once they have answered. Nothing ran.',
  },
  approval_dismissed: {
    retryable: false,
    meaning: 'The dialog of the client was closed without a choice. Nothing ran.',
  },
  approval_timed_out: {
    retryable: false,
    meaning:
      'Nobody answered before the plan expired, or the approval expired before it was used; `details.reason` says which. Nothing ran.',
  },
  stale_plan: {
    retryable: true,
    meaning:
      'What the approval was about has changed since. Nothing was changed; `details.causes` says what moved, and calling again makes a new plan.',
  },
  path_refused: {
    retryable: false,
    meaning: 'The path is not one that a tool may touch; `details.reason` says why.',
  },
  already_exists: {
    retryable: false,
    meaning: 'The path should be new, but something is there already. Nothing was changed.',
  },
  not_text: {
    retryable: false,
    meaning: 'The file is not text, or its encoding lacks characters of the text.',
  },
  no_unique_match: {
    retryable: false,
    meaning: 'The text to replace occurs more or less often than the call says. Nothing was changed.',
  },
  file_failed: {
    retryable: true,
    meaning: 'The file system refused; `details.errno` says how, and the message what the file holds now.',
  },
  too_large: { retryable: false, meaning: 'The value is larger than can be carried.' },
  internal: { retryable: false, meaning: 'Imago itself failed; `details.reason` says how.' },
} as const

export type ToolErrorCode = keyof typeof TOOL_ERRORS

/** What `details.reason` of an `internal` error can be. */
export const INTERNAL_REASONS = {
  inspect_timeout:
    'Looking took longer than its deadline. Its code may still be running; the session goes on.',
  invalid_result_shape: 'The kernel answered with something that is not of the agreed form.',
  handler_fault: 'The tool itself failed; the daemon’s log has the stack.',
  daemon_unavailable: 'The daemon could not be started or reached; the message says why.',
  journal_unavailable: 'The journal could not be written, so nothing that needs it was run.',
} as const

export type InternalReason = keyof typeof INTERNAL_REASONS
