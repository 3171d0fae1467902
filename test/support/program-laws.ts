import { expect } from 'vitest'
import type { createD1Adapter, D1Binding } from '../../src/adapters/sqlite/programs/d1.js'
import { everything, type Filter } from '../../src/core/filter/filter.js'
import type { StorageAdapter, StoredDocument } from '../../src/index.js'
import { createD1Database } from './program-databases.js'

/** What writes must do whose filters no statement can evaluate (CONTRACT.md §7, "Storage"). */

const S = { path: 's', type: 'string', each: false } as const

const beginsWith = (text: string): Filter => ({
  kind: 'match',
  field: S,
  pattern: { kind: 'sequence', parts: [{ kind: 'start' }, { kind: 'text', text }] },
})

const documentOf = (_id: string, s: string): StoredDocument => ({ _id, _version: 1, s })

const readAll = async (adapter: StorageAdapter): Promise<readonly unknown[]> =>
  [...(await adapter.list('things', { filter: everything, sort: [], skip: 0, limit: null }))]
    .map(({ s }) => s)
    .sort()

interface Opened {
  readonly create: typeof createD1Adapter
  readonly database: D1Binding
}

async function open({ create, database }: Opened): Promise<StorageAdapter> {
  const adapter = create(database)
  await adapter.open([{ name: 'things', indexes: [] }])
  return adapter
}

/** A pattern finds what the earlier steps of its write leave. */
async function checkEarlierSteps(opened: Opened): Promise<void> {
  const adapter = await open(opened)
  const insert = (_id: string, s: string) => ({ in: 'things', insert: documentOf(_id, s) })
  await adapter.write([insert('1', 'one'), insert('2', 'two')], {})
  const steps = [
    insert('3', 'three'),
    { in: 'things', replace: { ...documentOf('2', 'zwei'), _version: 2 }, version: 1 },
    { in: 'things', remove: beginsWith('t') },
  ]
  expect(await adapter.write(steps, {})).toEqual({ ok: true, removed: 1 })
  expect(await readAll(adapter)).toEqual(['one', 'zwei'])
  const refused = await adapter.write([insert('4', 'two'), { in: 'things', refuse: beginsWith('t') }], {})
  expect(refused).toEqual({ ok: false, step: 1, reason: 'found' })
}

/** Documents that change while a pattern is evaluated are evaluated again. */
async function checkOvertaken(opened: Opened): Promise<void> {
  const other = await open(opened)
  let left = 2
  const adapter = opened.create({
    prepare: (text) => opened.database.prepare(text),
    async batch(statements) {
      const texts = (statements as readonly (readonly [text: string])[]).map(([text]) => text)
      if (texts.some((text) => !text.startsWith('SELECT')) && left-- > 0)
        await other.write([{ in: 'things', insert: documentOf(`t${left}`, 'three') }], {})
      return opened.database.batch(statements)
    },
  })
  await other.write(
    [documentOf('1', 'one'), documentOf('2', 'two')].map((insert) => ({ in: 'things', insert })),
    {},
  )
  const removed = await adapter.write([{ in: 'things', remove: beginsWith('t') }], {})
  expect(removed).toEqual({ ok: true, removed: 3 })
  expect(await readAll(other)).toEqual(['one'])
}

export const PROGRAM_LAWS = [
  ['a pattern finds what the earlier steps of its write leave', checkEarlierSteps],
  ['documents that change while a pattern is evaluated are evaluated again', checkOvertaken],
] as const

/** Runs all laws on databases of one file each. */
export async function checkProgramLaws(create: typeof createD1Adapter, newFile: () => string): Promise<void> {
  for (const [, check] of PROGRAM_LAWS) {
    const database = createD1Database(newFile())
    await check({ create, database }).finally(() => database.close())
  }
}
