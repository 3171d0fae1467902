import { expect } from 'vitest'
import { everything } from '../../src/core/filter/filter.js'
import type { createCollectionService, StorageAdapter, StoredDocument } from '../../src/index.js'
import { createRandom, type Random } from '../../src/tools/testing/adapter/fuzz/random.js'
import { createTestService, type TestService } from './service.js'
import { idOf, LONG_AGO } from './stored.js'
import { seedOf } from './tier.js'

/**
 * The laws of aggregates over HTTP (CONTRACT.md §2, "Aggregates", §5, "No leak"), over pairs of stores in one storage after
 * another.
 */

type Json = { readonly [name: string]: unknown }

const text = { type: 'string' } as const

/** Two grants: one shows everything but `note` and `cost`, the other also `cost` where `wide` is true. */
const config = {
  collections: {
    orders: {
      schema: {
        shown: { type: 'boolean' },
        wide: { type: 'boolean' },
        status: text,
        at: { type: 'timestamp' },
        size: { type: 'integer' },
        amount: { type: 'number', index: true },
        cost: { type: 'number' },
        tags: { type: 'array', items: text },
        note: text,
      },
      permissions: {
        user: {
          read: [
            { where: { shown: true }, omit: ['note', 'cost'] },
            { where: { shown: true, wide: true }, omit: ['note'] },
          ],
        },
      },
    },
  },
}

const CALLER = { id: 'ann', roles: [] }

const TEXTS = ['open', 'paid', 'a', 'Ä', '\u{1f600}', '']
const TIMES = ['2026-01-31T23:59:59.999Z', '2026-02-01T00:00:00.000Z', '2025-12-29T12:00:00.000Z']

/** Draws a number, whose sums with others are rounded by doubles. */
const drawNumber = (random: Random): number =>
  random.pick([
    () => random.integer(-5, 5),
    () => random.integer(-999, 999) / 10 ** random.integer(1, 3),
    () => random.integer(1, 9) * 10 ** random.integer(15, 20),
    () => random.integer(1, 9) / 10 ** random.integer(10, 20),
    () => random.next() * 10 ** random.integer(0, 5),
  ])()

const drawSome = <T>(random: Random, draw: () => T): T | undefined =>
  random.chance(0.8) ? draw() : undefined

const withoutUndefined = (document: Json): Json =>
  Object.fromEntries(Object.entries(document).filter(([, value]) => value !== undefined))

/** Draws what a caller sees of a document. */
function drawSeen(random: Random): Json {
  const wide = random.chance(0.5)
  return withoutUndefined({
    wide,
    status: drawSome(random, () => random.pick(TEXTS)),
    at: drawSome(random, () => random.pick(TIMES)),
    size: drawSome(random, () => random.integer(-2, 3)),
    amount: drawSome(random, () => drawNumber(random)),
    cost: wide ? drawNumber(random) : undefined,
    tags: drawSome(random, () => Array.from({ length: random.integer(0, 3) }, () => random.pick(TEXTS))),
  })
}

/** Draws what a caller does not see of a document. */
const drawHidden = (random: Random, { wide }: Json): Json =>
  withoutUndefined({
    note: drawSome(random, () => random.pick(TEXTS)),
    ...(wide === true ? {} : { cost: drawSome(random, () => drawNumber(random)) }),
  })

const SYSTEM = { _version: 1, createdAt: LONG_AGO, updatedAt: LONG_AGO, createdBy: null }

/** Draws a store that shows some documents, in another order, beside others that it does not show. */
function drawStore(random: Random, seen: readonly Json[]): readonly StoredDocument[] {
  const shown = seen.map((one, i) => ({
    _id: idOf(i + 1),
    ...SYSTEM,
    shown: true,
    ...one,
    ...drawHidden(random, one),
  }))
  const others = Array.from({ length: random.integer(0, 4) }, (_, i) => {
    const one = drawSeen(random)
    return { _id: idOf(101 + i), ...SYSTEM, shown: false, ...one, ...drawHidden(random, one) }
  })
  return random.sample([...shown, ...others], shown.length + others.length) as readonly StoredDocument[]
}

const BY = [
  'by[status]=value',
  'by[at]=month',
  'by[at]=week',
  'by[size]=value',
  'by[wide]=value',
  'by[amount]=[-1,0,2.5]',
  'by[cost]=[0,1]',
  'by[tags]=value',
  'by[_id]=value',
  'by[note]=value',
]
const FILTERS = ['', 'q[size][$gte]=0', 'q[status]=open', 'q[amount][$lt]=3', 'q[tags]=a']
const MEASURES = [
  'sum=["amount","cost"]',
  'avg=["amount"]',
  'min=["status"]&max=["cost"]',
  'sum=["note"]',
  'sum=["size"]&min=["at"]',
]

/** Draws the query of an aggregate. What is not allowed is refused in the same words. */
const drawQuery = (random: Random): string =>
  [
    ...random.sample(BY, random.integer(0, 2)),
    ...random.sample(MEASURES, random.integer(0, 1)),
    random.pick(FILTERS),
    ...(random.chance(0.2) ? ['sort[$count]=-1&limit=2&total=true'] : []),
  ]
    .filter((part) => part !== '')
    .join('&')

/** How many pairs were different, and how many answers had groups. */
export interface SeenAggregates {
  different: number
  answered: number
}

const QUERIES = 3

/** Throws on a counterexample. `pairs`: how many pairs of stores. */
export async function checkAggregates(
  pairs: number,
  createAdapter: () => StorageAdapter,
  create?: typeof createCollectionService,
): Promise<SeenAggregates> {
  const service = createTestService(config, {
    adapter: createAdapter(),
    authenticate: () => null,
    ...(create ? { create } : {}),
  })
  const seen: SeenAggregates = { different: 0, answered: 0 }
  await service.handler.ready()
  try {
    for (let seed = 1; seed <= pairs; seed++) {
      const random = createRandom(seedOf(70_000 + seed))
      const documents = Array.from({ length: random.integer(0, 6) }, () => drawSeen(random))
      const [one, other] = [drawStore(random, documents), drawStore(random, documents)]
      const queries = Array.from({ length: QUERIES }, () => drawQuery(random))
      if (JSON.stringify(one) !== JSON.stringify(other)) seen.different += 1
      await store(service.adapter, random, one)
      const answers = await askAll(service, queries)
      const what = `seed ${seed}: ${JSON.stringify([one, other, queries])}`
      await checkNumbers(service, what)
      await store(service.adapter, random, other)
      expect(await askAll(service, queries), what).toEqual(answers)
      seen.answered += answers.filter((answer) => answer.startsWith('200 [{')).length
    }
  } finally {
    await service.handler.close()
  }
  return seen
}

/** Stores documents in the place of all others; some of them are removed and inserted again. */
async function store(
  adapter: StorageAdapter,
  random: Random,
  documents: readonly StoredDocument[],
): Promise<void> {
  const moved = documents.filter(() => random.chance(0.3))
  const insert = (all: readonly StoredDocument[]) => all.map((insert) => ({ in: 'orders', insert }))
  await adapter.write([{ in: 'orders', remove: everything }, ...insert(documents)], {})
  if (moved.length === 0) return
  const isMoved = {
    kind: 'or' as const,
    filters: moved.map(({ _id }) => ({
      kind: 'eq' as const,
      field: { path: '_id', type: 'string' as const, each: false },
      value: _id,
    })),
  }
  await adapter.write([{ in: 'orders', remove: isMoved }], {})
  await adapter.write(insert(moved.reverse()), {})
}

/** Returns the list, and the answers of the queries. */
async function askAll({ send }: TestService, queries: readonly string[]): Promise<readonly string[]> {
  const answers: string[] = []
  for (const line of ['GET /orders', ...queries.map((query) => `GET /orders/aggregate?${query}`)]) {
    const { status, headers, body } = await send(line, { caller: CALLER })
    const { requestId, ...problem } = Array.isArray(body) ? { requestId: undefined } : body
    const links = ['x-total-count', 'next-skip'].map((name) => headers.get(name))
    answers.push(`${status} ${JSON.stringify(Array.isArray(body) ? body : problem)} ${links}`)
  }
  return answers
}

/** Counts add up to those of the list, and a sum is the exact one of the numbers that the list shows. */
async function checkNumbers({ send }: TestService, what: string): Promise<void> {
  const as = { caller: CALLER }
  const documents: readonly Json[] = (await send('GET /orders', as)).body
  const [all] = (await send('GET /orders/aggregate?sum=["amount","cost","size"]', as)).body
  const sums = ['amount', 'cost', 'size'].map((name) => [name, sumOf(documents.map((one) => one[name]))])
  expect(all, what).toEqual({ key: {}, count: documents.length, sum: Object.fromEntries(sums) })
  for (const by of ['status', 'wide', 'size']) {
    const groups: readonly { readonly count: number; readonly sum: { readonly size: number } }[] = (
      await send(`GET /orders/aggregate?by[${by}]=value&sum=["size"]`, as)
    ).body
    const total = groups.reduce((sum, { count }) => sum + count, 0)
    expect([by, total], what).toEqual([by, documents.length])
    expect(
      groups.reduce((sum, one) => sum + one.sum.size, 0),
      what,
    ).toBe(all.sum.size)
  }
}

/** The digits after the point with which sums are exact. */
const DIGITS = 40

/** Returns the exact sum of decimals, rounded once. */
function sumOf(values: readonly unknown[]): number {
  const total = values.reduce(
    (sum: bigint, value) => (typeof value === 'number' ? sum + scaled(value) : sum),
    0n,
  )
  const rounded = Number(`${total}e-${DIGITS}`)
  return rounded === 0 ? 0 : rounded
}

function scaled(value: number): bigint {
  const [, sign, whole = '', part = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/.exec(String(value)) ?? []
  const shift = DIGITS + Number(exponent) - part.length
  return BigInt(`${sign}${whole}${part}`) * 10n ** BigInt(shift)
}
