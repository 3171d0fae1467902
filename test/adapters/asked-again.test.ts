import { describe, expect, test } from 'vitest'
import { isId, or } from '../../src/core/filter/filter.js'
import type { ListQuery, StoredDocument, WriteStep } from '../../src/core/storage.js'
import { listPlainly } from '../../src/tools/testing/adapter/check/plain-array.js'
import { applyPlainly, type Documents } from '../../src/tools/testing/adapter/check/plain-write.js'
import { documentsOf } from '../../src/tools/testing/adapter/fuzz/fuzz-adapter.js'
import { createRandom } from '../../src/tools/testing/adapter/fuzz/random.js'
import { drawQuery } from '../../src/tools/testing/adapter/fuzz/random-query.js'
import { drawStore } from '../../src/tools/testing/adapter/fuzz/random-store.js'
import { useLastingStorages } from '../support/storages.js'
import { rounds, seedOf } from '../support/tier.js'

/** The same questions again and again, between random writes by two processes: what is kept is never what was. */

const SEEDS = Array.from({ length: rounds(8) }, (_, i) => i + 1)
const ROUNDS = 25
const QUESTIONS = 8

describe.each(useLastingStorages())('on %s', (_, create) => {
  test.each(SEEDS)('answers are those of a plain array: seed %i', async (seed) => {
    const random = createRandom(seedOf(seed))
    const { fields, indexes, lives } = drawStore(random)
    const plan = { name: 'things', indexes: indexes.filter(({ unique }) => !unique) }
    const connect = create()
    const adapters = [connect(), connect()]
    for (const adapter of adapters) await adapter.open([plan])
    const first = documentsOf({ lives })
    await adapters[0]?.write(
      first.map((insert) => ({ in: 'things', insert: { ...insert, _version: 1 } })),
      {},
    )
    let documents: Documents = new Map(first.map((document) => [document._id, { ...document, _version: 1 }]))
    const questions = Array.from({ length: QUESTIONS }, (): ListQuery => {
      const query = drawQuery(random, { fields, documents: first })
      return { ...query, skip: 0, limit: random.pick([1, 5, 40, 100]), bytes: 2 ** 20 }
    })

    /** Values of a document that comes or changes: those of another one. */
    const drawLike = (_id: string, _version: number): StoredDocument => ({
      ...random.pick(first),
      _id,
      _version,
    })
    const drawWrite = (): readonly WriteStep[] => {
      const ids = random.sample([...documents.keys(), 'new1', 'new2', 'new3'], random.integer(1, 3))
      return ids.flatMap((id): readonly WriteStep[] => {
        const version = documents.get(id)?._version
        if (version === undefined) return [{ in: 'things', insert: drawLike(id, random.integer(1, 9)) }]
        return random.pick<readonly WriteStep[]>([
          [{ in: 'things', replace: drawLike(id, version + 1), version }],
          [
            { in: 'things', replace: drawLike(id, version + 1), version },
            { in: 'things', replace: drawLike(id, version + 2), version: version + 1 },
          ],
          [{ in: 'things', remove: isId(id), expect: 1 }],
          [{ in: 'things', remove: or([isId(id), isId('nobody')]) }],
          [
            { in: 'things', remove: isId(id) },
            { in: 'things', insert: drawLike(id, 1) },
          ],
          [
            { in: 'things', replace: drawLike(id, version + 1), version },
            { in: 'things', require: 'nobody' },
          ],
          random.chance(0.2) ? [{ in: 'things', remove: random.pick(questions).filter }] : [],
        ])
      })
    }

    for (let round = 0; round < ROUNDS; round++) {
      const steps = drawWrite()
      const left = new Map(documents)
      const isRefused = steps.some((step) => applyPlainly(left, step) !== undefined)
      const result = await random.pick(adapters).write(steps, {})
      expect(result.ok).toBe(!isRefused)
      if (!isRefused) documents = left
      for (const query of questions) {
        const all = [...documents.values()]
        for (const adapter of adapters) {
          const { filter, sort } = query
          const listed = await adapter.list('things', query)
          const expected = listPlainly(all, query)
          // Without a sort, any order is right, and any page of the size.
          if (sort.length > 0) expect([...listed]).toEqual([...expected])
          else expect(listed).toHaveLength(expected.length)
          const total = await adapter.count('things', filter, {})
          expect(total).toBe(listPlainly(all, { ...query, limit: null }).length)
        }
      }
    }
    for (const adapter of adapters) await adapter.close()
  })
})
