import { expect, test } from 'vitest'
import { checkInterleaved, HELD } from '../support/interleaved.js'
import { useStorages } from '../support/storages.js'
import { isLong, isQuick } from '../support/tier.js'

// CONTRACT.md §2, "Concurrency", "Batch": writes behave as if one came after another

/** What is played in memory with hooks where tests are not long; on the other storages it is a PATCH without hooks. */
const WITH_HOOKS = ['a PATCH', 'a DELETE', 'change-secret']

/** What `npm test` plays, in memory alone: without hooks, and with them. */
const FEW: readonly string[] = ['a PATCH', 'change-secret']

const cases = useStorages().flatMap(([name, createAdapter]) =>
  [false, true].flatMap((hasHooks) =>
    Object.entries(HELD)
      .filter(([what]) => {
        if (isLong) return true
        if (isQuick) return name === 'memory' && what === FEW[Number(hasHooks)]
        if (name === 'memory') return !hasHooks || WITH_HOOKS.includes(what)
        return !hasHooks && what === 'a PATCH'
      })
      .map(
        ([what, held]) =>
          [name, hasHooks ? 'with' : 'without', what, { createAdapter, hasHooks }, held] as const,
      ),
  ),
)

test.each(cases)(
  'in %s, %s hooks, %s is as if nobody had come in between',
  async (_name, _hooks, _what, asked, held) => {
    expect(await checkInterleaved(asked, held)).toBeGreaterThan(30)
  },
)
