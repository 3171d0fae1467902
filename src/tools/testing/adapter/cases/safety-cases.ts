import { everything } from '../../../../core/filter/filter.js'
import type { StorageAdapter, StoredDocument } from '../../../../core/storage.js'
import type { MaybePromise } from '../../../../core/types.js'
import type { AdapterCase } from '../adapter-case.js'
import { check, checkSame, print } from '../check/check.js'
import { checkWrite, done, rejected, removing, stepsIn } from '../check/check-write.js'
import { checkStored, documentOf, eq, fieldOf, ID, insertAll, planOf, queryOf } from '../check/documents.js'
import { adapterCase, withAdapter } from '../check/with-adapter.js'

const inThings = stepsIn('things')

const plan = planOf('things', [true, fieldOf('s', 'string')])

/** Creates new documents at each call, so that changing one of them does not affect later calls. */
const make = (): readonly StoredDocument[] =>
  ['1', '2', '3'].map((id) =>
    documentOf(id, { s: `s${id}`, o: { list: [1, { x: 1 }], deep: { text: 'a' } } }),
  )

/** Overwrites every property of a value, at every depth. */
function spoil(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  for (const inner of Object.values(value)) spoil(inner)
  for (const name of [...Object.keys(value), 'added']) {
    try {
      Reflect.set(value, name, 'spoiled')
    } catch {
      // Setting a property of a frozen value fails, and that is just as safe.
    }
  }
}

/** Returns the result of an operation whose signal aborts, or `undefined` if it rejects, which is also allowed. */
async function settle<T>(operation: () => MaybePromise<T>): Promise<{ readonly value: T } | undefined> {
  try {
    return { value: await operation() }
  } catch {
    return undefined
  }
}

const aborted = (): AbortSignal => AbortSignal.abort()

/** Returns a signal that aborts after some turns of the microtask queue, while an operation runs. */
function abortSoon(turns: number): AbortSignal {
  const controller = new AbortController()
  const wait = async (): Promise<void> => {
    for (let i = 0; i < turns; i++) await Promise.resolve()
    controller.abort()
  }
  void wait()
  return controller.signal
}

const SIGNALS: readonly (() => AbortSignal)[] = [
  aborted,
  ...[0, 1, 2, 5, 20].map((turns) => () => abortSoon(turns)),
]

async function checkAbortedWrite(adapter: StorageAdapter, signal: AbortSignal, round: number): Promise<void> {
  const fresh = [`a${round}`, `b${round}`].map((id) => documentOf(id, { s: id }))
  const steps = fresh.map(inThings.insert)
  const result = await settle(() => adapter.write(steps, { signal }))
  const stored = await adapter.list(
    'things',
    queryOf({ filter: { kind: 'or', filters: fresh.map(({ _id }) => eq(ID, _id)) } }),
  )
  check(
    stored.length === 2 || (stored.length === 0 && !result?.value.ok),
    `an aborted write must be stored as a whole or not at all, but with the result ${print(result ?? 'a rejection')} it stored ${print(stored)}`,
  )
}

/** Cases with callers that modify what they passed in or received, and that abort operations. */
export const safetyCases: readonly AdapterCase[] = [
  {
    name: 'copies: what was passed in may change afterwards',
    run: (storage) => {
      const plans = [{ ...plan, indexes: [...plan.indexes] }]
      return withAdapter(storage, plans, async (adapter) => {
        plans.length = 0
        const passed = make()
        const steps = passed.map(inThings.insert)
        checkSame(await adapter.write(steps, {}), done, 'write of three documents')
        spoil(passed)
        spoil(steps)
        await checkStored(
          adapter,
          'things',
          make(),
          'after the caller changed the documents that it had passed in',
        )
        const replace = { ...make()[0], _id: '1', _version: 2, s: 'new', o: { list: [2] } }
        await checkWrite(adapter, [inThings.replace(replace, 1)], done)
        spoil(replace)
        const expected = [{ _id: '1', _version: 2, s: 'new', o: { list: [2] } }, ...make().slice(1)]
        await checkStored(
          adapter,
          'things',
          expected,
          'after the caller changed the replacement that it had passed in',
        )
        const twin = documentOf('twin', { s: 'new' })
        await checkWrite(adapter, [inThings.insert(twin)], rejected(0, 'unique', 's'))
      })
    },
  },
  adapterCase('copies: what was returned may change afterwards', [plan], async (adapter) => {
    await insertAll(adapter, 'things', make())
    for (const limit of [null, 2]) {
      const returned = await adapter.list('things', queryOf({ limit }))
      spoil(returned)
      await checkStored(
        adapter,
        'things',
        make(),
        'after the caller changed the documents that a list had returned',
      )
    }
    const failed = await adapter.write([inThings.insert(documentOf('x', { s: 's1' }))], {})
    spoil(failed)
    const twin = documentOf('x', { s: 's1' })
    await checkWrite(adapter, [inThings.insert(twin)], rejected(0, 'unique', 's'))
  }),
  adapterCase('copies: a list does not change with later writes', [plan], async (adapter) => {
    await insertAll(adapter, 'things', make())
    const before = await adapter.list('things', queryOf())
    const replace = { _id: '1', _version: 2 }
    await checkWrite(adapter, [inThings.replace(replace, 1), inThings.remove(eq(ID, '2'))], removing(1))
    checkSame(before, make(), 'the list from before the write')
  }),
  adapterCase('abort: a list or count that is told to stop rejects or is right', [plan], async (adapter) => {
    await insertAll(adapter, 'things', make())
    for (const signalOf of SIGNALS) {
      const list = await settle(() => adapter.list('things', { ...queryOf(), signal: signalOf() }))
      if (list) checkSame(list.value, make(), 'an aborted list')
      const count = await settle(() => adapter.count('things', everything, { signal: signalOf() }))
      if (count) checkSame(count.value, 3, 'an aborted count')
      await checkStored(adapter, 'things', make(), 'after an abort')
    }
  }),
  adapterCase('abort: a write that is told to stop is whole or nothing', [plan], async (adapter) => {
    for (const [round, signalOf] of SIGNALS.entries()) await checkAbortedWrite(adapter, signalOf(), round)
    // Many simultaneous aborts must not leave a lock.
    await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        checkAbortedWrite(adapter, (SIGNALS[i % SIGNALS.length] ?? aborted)(), 100 + i),
      ),
    )
    await insertAll(adapter, 'things', make())
    checkSame(
      await adapter.count('things', eq(ID, '1'), { signal: new AbortController().signal }),
      1,
      'a count afterwards',
    )
  }),
]
