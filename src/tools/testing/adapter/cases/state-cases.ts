import { everything } from '../../../../core/filter/filter.js'
import type { CollectionPlan, StorageAdapter, WriteStep } from '../../../../core/storage.js'
import type { AdapterCase } from '../adapter-case.js'
import { stepsIn } from '../check/check-write.js'
import { documentOf, eq, fieldOf, planOf } from '../check/documents.js'
import { pairCase } from '../check/with-adapter.js'

const inThings = stepsIn('things')

const N = fieldOf('n', 'number')
const PLANS: readonly CollectionPlan[] = [planOf('things'), planOf('others')]
const BOTH = ['things', 'others']

/** Creates a case with two adapters for one storage. Adapters without `state` pass. */
const stateCase = (
  name: string,
  run: (first: StorageAdapter, second: StorageAdapter) => Promise<void>,
): AdapterCase =>
  pairCase(`state: ${name}`, PLANS, async (first, second) => {
    if (first.state) await run(first, second)
  })

const list = async (adapter: StorageAdapter, collection: string): Promise<string> =>
  JSON.stringify(await adapter.list(collection, { filter: everything, sort: [], skip: 0, limit: null }))

const WRITES: readonly WriteStep[] = [
  inThings.insert(documentOf('1', { n: 1 })),
  inThings.replace({ _id: '1', _version: 2, n: 2 }, 1),
  inThings.remove(eq(N, 2)),
]

/** Cases for the `state` of collections. A service caches counts until the state changes. */
export const stateCases: readonly AdapterCase[] = [
  stateCase('each write changes it at once, also one of another adapter', async (first, second) => {
    for (const writer of [first, second]) {
      for (const step of WRITES) {
        const before = [first.state?.(['things']), first.state?.(BOTH)]
        await writer.write([step], {})
        const after = [first.state?.(['things']), first.state?.(BOTH)]
        for (const [i, state] of after.entries())
          if (state !== undefined && state === before[i])
            throw new Error(`after ${JSON.stringify(step)} the state is still ${state}`)
      }
    }
  }),

  stateCase('it changes with any step of a write', async (first) => {
    const before = first.state?.(['others'])
    await first.write([...WRITES, { in: 'others', insert: documentOf('1') }], {})
    if (before !== undefined && first.state?.(['others']) === before)
      throw new Error('the last step of a write did not change the state of its collection')
  }),

  stateCase('lists between equal states are equal while others write', async (first, second) => {
    const seen = new Map<string, string>()
    let isWriting = true
    const writing = (async () => {
      for (let i = 0; i < 40; i++) {
        const writer = i % 3 === 0 ? second : first
        await writer.write([inThings.insert(documentOf(String(i)))], {})
      }
      isWriting = false
    })()
    while (isWriting) {
      const before = first.state?.(['things'])
      const listed = await list(first, 'things')
      // If the state changed while the list was read, the list may be newer than `before`. Such a list is ignored.
      if (before !== undefined && first.state?.(['things']) === before) {
        if ((seen.get(before) ?? listed) !== listed)
          throw new Error(
            `the state is ${before} as before, but the list is now ${listed} instead of ${seen.get(before)}`,
          )
        seen.set(before, listed)
      }
      await new Promise((resolve) => setTimeout(resolve))
    }
    await writing
  }),
]
