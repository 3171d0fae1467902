import { expect } from 'vitest'
import { everything } from '../../src/core/filter/filter.js'
import type { StorageAdapter } from '../../src/index.js'
import fc from './fast-check.js'
import type { Worlds } from './laws.js'
import { createTestService } from './service.js'
import { idOf, LONG_AGO } from './stored.js'
import { seedOf } from './tier.js'
import type { Building } from './write-laws.js'

/** The fields of a document: a unique number, and references that restrict, cascade and are unset. */
interface Fields {
  readonly n?: number | null
  readonly next?: string | null
  readonly up?: string | null
  readonly see?: string | null
}

/** An operation of a batch on one of a few documents. */
interface Operation {
  readonly method: 'PUT' | 'PATCH' | 'DELETE' | 'GET'
  readonly id: string
  readonly body: Fields
}

type Documents = ReadonlyMap<string, Fields>

const CONFIG = {
  collections: {
    items: {
      schema: {
        n: { type: 'integer', unique: true },
        next: { type: 'reference', collection: 'items' },
        up: { type: 'reference', collection: 'items', onDelete: 'cascade' },
        see: { type: 'reference', collection: 'items', onDelete: 'unset' },
      },
      permissions: { user: true },
      changes: true,
    },
  },
}

const REFERENCES = ['next', 'up', 'see'] as const
const IDS = [1, 2, 3, 4, 5].map(idOf)

const oneOfValues = <T>(values: readonly T[]) =>
  fc.option(fc.oneof({ weight: 5, arbitrary: fc.constantFrom(...values) }, fc.constant(null)), {
    nil: undefined,
  })

const fields: fc.Arbitrary<Fields> = fc
  .record({
    n: oneOfValues([0, 1, 2, 3, 4]),
    next: oneOfValues(IDS),
    up: oneOfValues(IDS),
    see: oneOfValues(IDS),
  })
  // Most documents have one or two references, so that some batches succeed.
  .chain((all) =>
    fc.subarray(['n', 'n', ...REFERENCES] as const, { maxLength: 2 }).map((names) => pick(all, names)),
  )

const pick = (
  all: { readonly [name in keyof Fields]: Fields[name] | undefined },
  names: readonly (keyof Fields)[],
): Fields =>
  Object.fromEntries(names.filter((name) => all[name] !== undefined).map((name) => [name, all[name]]))

const operation: fc.Arbitrary<Operation> = fc.record({
  method: fc.constantFrom('PUT', 'PATCH', 'PATCH', 'PATCH', 'PATCH', 'DELETE', 'GET'),
  id: fc.constantFrom(...IDS),
  body: fields,
})

const withoutNulls = (body: Fields): Fields =>
  Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null))

/** Documents that meet all conditions: each refers only to those before it. */
const stored: fc.Arbitrary<Documents> = fc.subarray(IDS, { minLength: 2 }).chain((ids) =>
  fc.array(fields, { minLength: ids.length, maxLength: ids.length }).map((all) => {
    const documents = new Map<string, Fields>()
    for (const [i, id] of ids.entries()) {
      const given = { ...withoutNulls(all[i] ?? {}), n: i }
      const kept = Object.entries(given).filter(
        ([, value]) => typeof value === 'number' || documents.has(value ?? ''),
      )
      documents.set(id, Object.fromEntries(kept))
    }
    return documents
  }),
)

/** The result that the model expects: a refusal, or what is left, and what each GET answered. */
type Expected =
  | { readonly refusal: readonly [status: number, code: string, operation: number] }
  | { readonly left: Documents; readonly seen: readonly (Fields | undefined)[] }

/** What the operations of a batch do, one after another, with conditions that are checked at the end. */
function runPlainly(before: Documents, operations: readonly Operation[]): Expected {
  const left = new Map(before)
  /** The last operation that wrote or deleted a document, and the documents that its operations let it refer to. */
  const [last, given] = [new Map<string, number>(), new Map<string, Set<string>>()]
  const seen: (Fields | undefined)[] = []
  const removeAll = (id: string, place: number): void => {
    left.delete(id)
    last.set(id, place)
    for (const [other, document] of [...left]) if (document.up === id) removeAll(other, place)
  }
  for (const [i, { method, id, body }] of operations.entries()) {
    const present = left.get(id)
    if (method === 'PUT' && present) return { refusal: [412, 'precondition_failed', i] }
    if (method !== 'PUT' && !present) return { refusal: [404, 'not_found', i] }
    seen.push(method === 'GET' ? present : undefined)
    if (method === 'GET') continue
    if (method === 'DELETE') {
      const standing = new Set(left.keys())
      removeAll(id, i)
      for (const [other, document] of left)
        if (document.see && standing.has(document.see) && !left.has(document.see)) {
          const { see: _, ...others } = document
          left.set(other, others)
        }
      continue
    }
    // A PATCH of nothing writes nothing.
    if (method === 'PATCH' && Object.keys(body).length === 0) continue
    const after = withoutNulls({ ...present, ...body })
    left.set(id, after)
    last.set(id, i)
    const named = given.get(id) ?? new Set()
    for (const name of REFERENCES) if (after[name] && after[name] !== present?.[name]) named.add(after[name])
    given.set(id, named)
  }
  const placeOf = (id: string): number => last.get(id) ?? -1
  /** The conditions that are not met: the place at fault, the rank of the condition there, and the error. */
  const broken: {
    readonly place: number
    readonly rank: number
    readonly status: number
    readonly code: string
  }[] = []
  for (const [id, document] of left) {
    for (const [other, { n }] of left)
      if (other < id && n !== undefined && n === document.n)
        broken.push({
          place: Math.max(placeOf(id), placeOf(other)),
          rank: 1,
          status: 409,
          code: 'unique_violation',
        })
    for (const name of REFERENCES) {
      const target = document[name]
      if (!target || left.has(target)) continue
      const isGiven = given.get(id)?.has(target) === true && placeOf(id) > placeOf(target)
      broken.push(
        isGiven
          ? { place: placeOf(id), rank: 0, status: 400, code: 'validation_failed' }
          : { place: placeOf(target), rank: 2, status: 409, code: 'reference_in_use' },
      )
    }
  }
  const [first] = broken.sort((a, b) => a.place - b.place || a.rank - b.rank)
  return first ? { refusal: [first.status, first.code, first.place] } : { left, seen }
}

/** How many batches succeeded although some order of their operations alone would not, and how many were refused. */
export interface SeenWhole {
  granted: number
  refused: number
}

/**
 * A batch leaves what its operations leave one after another if conditions are checked at the end; a refused one leaves
 * nothing, and names the operation at fault (CONTRACT.md §2, "Batch"). Throws on a counterexample.
 */
export async function checkWholeBatches(
  runs: Worlds,
  { create, createAdapter }: Building & { readonly createAdapter: () => StorageAdapter },
): Promise<SeenWhole> {
  const seen: SeenWhole = { granted: 0, refused: 0 }
  const adapter = createAdapter()
  const service = createTestService(CONFIG, {
    authenticate: () => null,
    adapter,
    ...(create ? { create } : {}),
  })
  await service.handler.ready()
  const caller = { id: 'ann' }
  const system = { createdAt: LONG_AGO, updatedAt: LONG_AGO, createdBy: null, _version: 1 }
  const readLeft = async (): Promise<unknown> => {
    const { body } = await service.send('GET /items?sort[_id]=1', { caller })
    return body.map(pickShown)
  }
  try {
    await fc.assert(
      fc.asyncProperty(
        stored,
        fc.array(operation, { minLength: 2, maxLength: 5 }),
        async (before, operations) => {
          const steps = [...before].map(([_id, document]) => ({
            in: 'items',
            insert: { _id, ...system, ...document },
          }))
          await adapter.write([{ in: 'items', remove: everything }, ...steps], {})
          const position = (await adapter.changes?.(null, { limit: 1 }))?.position ?? null
          const sent = await service.send('POST /_batch', {
            caller,
            body: {
              operations: operations.map(({ method, id, body }) => ({
                method,
                path: `/items/${id}`,
                ...(method === 'PUT' ? { ifNoneMatch: '*' } : {}),
                ...(method === 'PUT' ? { body: withoutNulls(body) } : method === 'PATCH' ? { body } : {}),
              })),
            },
          })
          const expected = runPlainly(before, operations)
          const context = { before: [...before], operations }
          if ('refusal' in expected) {
            seen.refused += 1
            const { code, operation: place } = sent.body
            expect({ ...context, refusal: [sent.status, code, place] }).toEqual({ ...context, ...expected })
            expect(await readLeft()).toEqual(shownOf(before))
          } else {
            seen.granted += 1
            expect({ ...context, status: sent.status, body: sent.body }).toMatchObject({
              ...context,
              status: 200,
            })
            expect({ ...context, left: await readLeft() }).toEqual({
              ...context,
              left: shownOf(expected.left),
            })
            const gets = sent.body.results.map(({ body }: { body: unknown }, i: number) =>
              operations[i]?.method === 'GET' ? pickShown(body as Fields) : undefined,
            )
            const told = expected.seen.map((one, i) => one && { _id: operations[i]?.id, ...one })
            expect({ ...context, gets }).toEqual({ ...context, gets: told })
            const { changes = [] } = (await adapter.changes?.(position, { limit: 100 })) ?? {}
            const logged = changes.map(({ id, after }) => [id, after && pickShown(after)])
            const kept = changes.map(({ id }): [string, unknown] => {
              const document = expected.left.get(id)
              return [id, document ? { _id: id, ...document } : null]
            })
            expect({ ...context, logged }).toEqual({ ...context, logged: kept })
            expect(new Set(changes.map(({ id }) => id)).size).toBe(changes.length)
          }
        },
      ),
      {
        seed: seedOf(SEED),
        endOnFailure: true,
        ...(typeof runs === 'number' ? { numRuns: runs } : { numRuns: 1, path: runs }),
      },
    )
  } finally {
    await service.handler.close()
  }
  return seen
}

const SEED = 64

const NAMES = ['_id', 'n', ...REFERENCES]

const pickShown = (document: object): unknown =>
  Object.fromEntries(Object.entries(document).filter(([name]) => NAMES.includes(name)))

const shownOf = (documents: Documents): unknown =>
  [...documents].sort(([a], [b]) => (a < b ? -1 : 1)).map(([_id, document]) => ({ _id, ...document }))
