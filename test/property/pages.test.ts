import { expect, test } from 'vitest'
import type { StoredDocument } from '../../src/index.js'
import fc from '../support/fast-check.js'
import { expectList, type OracleQuery } from '../support/oracle.js'
import { idOf, LONG_AGO, openStored } from '../support/stored.js'
import { perRound, rounds } from '../support/tier.js'
import { followingOf, nextOf } from '../support/walk.js'
import { writeQuery } from '../support/worlds.js'

// CONTRACT.md §3.7

type Json = { readonly [name: string]: unknown }

const schema = {
  s: { type: 'string' },
  t: { type: 'string', index: true },
  n: { type: 'number' },
  i: { type: 'integer' },
  b: { type: 'boolean' },
  at: { type: 'timestamp' },
  o: { type: 'object', properties: { x: { type: 'string' }, k: { type: 'integer' } } },
  /** Whether a document is one of those that are walked. */
  walked: { type: 'boolean' },
}

const read = { where: { walked: true } }
const collection = { schema, permissions: { '*': { read }, admin: { read: true } } }
const admin = { id: 'eve', roles: ['admin'] }

const text = fc.constantFrom('', 'a', 'B', 'ab', 'é', '\ue000', '\uffff', '😀', '\u{10ffff}', 'a"b', '&=+%<>')
const number = fc.constantFrom(-1, 0, 1, 2.5, 0.1, 2 ** 53 - 1)
const integer = fc.constantFrom(-2, 0, 1, 2 ** 53 - 1)
const time = fc.constantFrom(LONG_AGO, '0001-01-01T00:00:00.000Z', '9999-12-31T23:59:59.999Z')
/** What an older configuration left behind. */
const odd = fc.constantFrom<unknown>(5, 2.5, 'odd', '2020-01-01', true, ['a'], { x: 'a' }, null)
const mostly = (usual: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
  fc.oneof({ weight: 6, arbitrary: usual }, { weight: 1, arbitrary: odd })

const document: fc.Arbitrary<Json> = fc.record(
  {
    s: mostly(text),
    t: mostly(text),
    n: mostly(number),
    i: mostly(integer),
    b: mostly(fc.boolean()),
    at: mostly(time),
    o: mostly(fc.record({ x: mostly(text), k: mostly(integer) }, { requiredKeys: [] })),
    createdAt: time,
    createdBy: fc.constantFrom<unknown>('ann', 'bob', null),
  },
  { requiredKeys: ['createdAt', 'createdBy'] },
)

const PATHS = ['s', 't', 'n', 'i', 'b', 'at', 'o.x', 'o.k', '_id', 'createdAt', 'createdBy']

const sort = fc.uniqueArray(fc.record({ path: fc.constantFrom(...PATHS), descending: fc.boolean() }), {
  maxLength: 3,
  selector: ({ path }) => path,
})

interface Disturbance {
  readonly added: readonly Json[]
  readonly isStrangerRemoved: boolean
  readonly isPassedRemoved: boolean
}

/** What happens between two pages: documents that are no part of the walk come and go, and so do those passed. */
const disturbance: fc.Arbitrary<Disturbance> = fc.record({
  added: fc.array(document, { maxLength: 2 }),
  isStrangerRemoved: fc.boolean(),
  isPassedRemoved: fc.boolean(),
})

const RUNS = rounds(250)

test('walking pages visits every document once, in the order of the whole list, whatever else is written', async () => {
  let pages = 0
  await fc.assert(
    fc.asyncProperty(
      fc.array(document, { minLength: 1, maxLength: 14 }),
      fc.array(document, { maxLength: 4 }),
      sort,
      fc.integer({ min: 1, max: 5 }),
      fc.boolean(),
      fc.infiniteStream(disturbance),
      async (inWalk, others, keys, limit, isAdmin, disturbances) => {
        const documents = [
          ...inWalk.map((one) => ({ ...one, walked: true })),
          ...others.map((one) => ({ ...one, walked: false })),
        ].map((one, i): Json => ({ ...one, _id: idOf((i * 7) % 31), updatedAt: LONG_AGO }))
        const service = await openStored(
          { collections: { things: collection } },
          { things: documents },
          { authenticate: () => null },
        )
        // One asks for them, the other may read no others.
        const caller = isAdmin ? admin : null
        const conditions = isAdmin ? [{ path: 'walked', operator: '$eq', values: [true] }] : []
        const query: OracleQuery = { conditions, sort: keys }
        const expected = expectList(collection, documents, caller, query)
        const whole = await service.send(`GET /things?${writeQuery(query)}`, { caller })
        expect(whole.body).toEqual(expected)

        const strangers = documents.filter(({ walked }) => !walked).map(({ _id }) => String(_id))
        const walked: Json[] = []
        let next: string | undefined = `/things?${writeQuery({ ...query, limit })}`
        for (let page = 0; next !== undefined; page++) {
          const answer = await service.send(`GET ${next}`, { caller })
          expect(answer.status).toBe(200)
          expect(answer.body).toHaveLength(Math.min(limit, whole.body.length - walked.length))
          walked.push(...answer.body)
          // By the next page's place alone, or by the link.
          next = page % 2 === 0 ? followingOf(next, answer) : nextOf(answer)
          expect(next === undefined).toBe(walked.length === whole.body.length)
          pages += 1

          const { added, isStrangerRemoved, isPassedRemoved } = disturbances.next().value as Disturbance
          const inserted = added.map((one, i) => ({
            in: 'things',
            insert: {
              ...one,
              _id: idOf(100 + page * 4 + i),
              walked: false,
              _version: 1,
            } as unknown as StoredDocument,
          }))
          const doomed = [
            ...(isStrangerRemoved ? strangers.splice(0, 1) : []),
            ...(isPassedRemoved ? [String(answer.body[0]._id)] : []),
          ]
          const removed = doomed.map((value) => ({
            in: 'things',
            remove: { kind: 'eq', field: { path: '_id', type: 'string', each: false }, value } as const,
            expect: 1,
          }))
          expect(await service.adapter.write([...inserted, ...removed], {})).toMatchObject({ ok: true })
        }
        expect(walked).toEqual(expected)
      },
    ),
    { numRuns: RUNS },
  )
  expect(perRound(pages, RUNS)).toBeGreaterThan(1.5)
})
