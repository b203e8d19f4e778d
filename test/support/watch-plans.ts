import type { ShownHunk, ShownPlan } from '../../src/approvals/contract.ts'
import { escapePlan, warningsOf } from '../../src/text/escape.ts'
import { unifiedDiff } from '../../tools/diff.ts'
import { hunksFrom, widened } from '../../tools/hunks.ts'
import { shownPlanOf } from './shown-plans.ts'

/** Plans that are looked at in the tests and on the screens of docs/watch.md: the same each time. */

const ORDERS = `"""What customers have ordered."""

from dataclasses import dataclass, field


@dataclass
class Order:
    number: int
    items: list = field(default_factory=list)

    def total(self):
        return sum(item.price for item in self.items)

    def ship(self, to):
        """Send it."""
        if not self.items:
            raise ValueError('nothing to send')
        carrier = choose(to)
        return carrier.send(self.number, to)

    def cancel(self):
        self.items.clear()


def choose(to):
    return CARRIERS[to.country]
`

const FASTER = ORDERS.replace('item.price for item', 'item.price * item.count for item')
  .replace('def ship(self, to):', 'def ship(self, to, express=False):')
  .replace('choose(to)\n        return', 'choose(to, express)\n        return')

const WHO = 'claude-code'

const ROOT = '/home/ada/shop'

function diffPlan(given: Partial<ShownPlan> & { before: string; after: string; path: string }): ShownPlan {
  const { before, after, path, ...plan } = given
  const diff = unifiedDiff({ path, before, after })
  const lines = `${diff.added} lines added, ${diff.removed} removed`
  const body = `Edits ${path}: ${lines}.\n\n${diff.text}`
  return planOf({ body, ...plan })
}

/** With the hash and the size that such a body could have. */
export function planOf({ body: text = 'one\n', ...given }: Partial<ShownPlan>): ShownPlan {
  const { text: body } = escapePlan(text)
  const bytes = Buffer.byteLength(text)
  return shownPlanOf({
    body,
    bytes,
    hash: 'b5bb9d8014a0f9b1d61e21e796d78dccdf1352f23cd32812f4850b878ae4944c',
    warnings: warningsOf(text),
    who: WHO,
    root: ROOT,
    ...given,
  })
}

/** One edit whose words can be seen. */
export const EDIT = diffPlan({
  id: 'plan-kqzvmwhd',
  tool: 'edit_file',
  title: 'Edit shop/orders.py',
  path: 'shop/orders.py',
  before: ORDERS,
  after: FASTER,
  turn: 'turn-1',
  waited_ms: 12_000,
  grants: ['shop/orders.py', 'shop/*.py'],
})

/** What is proposed: pieces of the text, and what is to stand in their place. */
const PROPOSALS: readonly (readonly [old: string, put: string, why: string | null])[] = [
  ['item.price for item', 'item.price * item.count for item', 'An order may have several of one thing.'],
  ["        if not self.items:\n            raise ValueError('nothing to send')\n", '', null],
  [
    'def choose(to):\n    return CARRIERS[to.country]',
    'def choose(to, express=False):\n    return (FAST if express else CARRIERS)[to.country]',
    'Express orders go with other carriers.',
  ],
]

const EDITS = PROPOSALS.map(([old, text, why], index) => {
  const from = ORDERS.indexOf(old)
  return { number: index + 1, from, to: from + old.length, text, why }
})

/** The same as the tool makes them. */
export const HUNKS: readonly ShownHunk[] = hunksFrom(
  { path: `${ROOT}/shop/orders.py`, shown: 'shop/orders.py', newline: '\n', text: ORDERS },
  widened(ORDERS, EDITS),
).map(({ path: _, ...hunk }) => hunk)

export const PROPOSED = diffPlan({
  id: 'plan-abtgnwxe',
  tool: 'propose_file_edit',
  title: `Edit shop/orders.py: ${HUNKS.length} hunks`,
  path: 'shop/orders.py',
  before: ORDERS,
  after: PROPOSALS.reduce((text, [old, put]) => text.replace(old, put), ORDERS),
  hunks: HUNKS,
  turn: 'turn-1',
  waited_ms: 12_000,
})

export const CODE = planOf({
  id: 'plan-pwxcnbvt',
  tool: 'eval_expr',
  level: 'cautious',
  kernel: 'shop',
  who: 'cursor',
  title: 'Run this code',
  body: 'for order in orders:\n    if not order.items:\n        order.cancel()  # empty ones only\nprint(len(orders), "left")\n',
  turn: 'turn-2',
  waited_ms: 61_000,
})

/** As in "Trojan Source": what it looks like is not what it does. */
export const TROJAN = planOf({
  id: 'plan-zrdmqfyu',
  tool: 'eval_expr',
  level: 'cautious',
  kernel: 'shop',
  title: 'Run this code',
  body: `access = 'user'\nif access != 'none\u202e\u2066': # Check if admin\u2069\u2066' and access != 'user\n    print('You are an admin.')\nсоnnect = pаypal\n`,
  turn: 'turn-3',
  waited_ms: 3_000,
})

/** What holds besides plans. */
export const STANDING = {
  grants: [
    {
      id: 'grant-1',
      tool: 'edit_file',
      kernel: null,
      pattern: 'shop/*.py',
      root: ROOT,
      who: WHO,
      seat: 'seat-1',
      used: 3,
      ends_ms: 7 * 3_600_000,
    },
  ],
  pauses: [{ who: 'cursor', refusals: 3, left_ms: 300_000 }],
}
