import { assert, suite } from '../support/harness.ts'
import { openScreen, type ScreenOf } from '../support/screen.ts'
import { openAsking, openWatch } from '../support/watching.ts'

/** A prompt that can only print lines takes no seat: it says who answers. */
const test = suite('approvals at a prompt of lines', { limitMs: 60_000 })

async function withPrompt(
  use: (parts: { rig: ReturnType<typeof openAsking>; screen: ScreenOf }) => Promise<void>,
) {
  const rig = openAsking()
  let screen: ScreenOf | undefined
  try {
    await rig.serve()
    screen = openScreen(rig, { columns: 160, env: { TERM: 'dumb' } })
    await screen.shows(/^>>>/m)
    await use({ rig, screen })
  } finally {
    screen?.close()
    await rig.close()
  }
}

test(':approvals lists what waits and says what to do, other commands are named none, and code is still code', () =>
  withPrompt(async ({ screen }) => {
    screen.type(':approvals\n')
    await screen.shows('No plan waits for an answer.')
    await screen.shows('Nobody has a seat. A person takes one with: imago watch')
    screen.type(':kernels\n')
    await screen.shows('has one command: :approvals')
    screen.type('if True:\n')
    await screen.shows(/^\.\.\.$/m)
    assert.not.match(screen.text(), 'SyntaxError')
  }))

test('code that waits for a person says who answers, once, and runs when they did', () =>
  withPrompt(async ({ rig, screen }) => {
    screen.type('6 * 7\n')
    await screen.shows(/^approval_unavailable: [\s\S]*imago watch/m)
    const watch = await openWatch(rig)
    try {
      screen.type('6 * 7\n')
      await screen.shows(/^plan-\w+ is before a person; nothing ran yet\. .* with: imago watch$/m)
      await watch.screen.shows('Approve?')
      watch.screen.type('y\n')
      await screen.shows(/^42$/m)
      assert.is(screen.text().split('is before a person').length, 2)
      screen.type(':ap\n')
      await screen.shows('A person answers in another terminal, with: imago watch')
    } finally {
      watch.screen.close()
    }
  }))
