import { afterEach, describe, expect, test, vi } from 'vitest'
import { bounds } from '../../../../src/core/bounds.js'
import { compileConfig } from '../../../../src/core/config/compile-config.js'
import type { Call } from '../../../../src/core/request/call.js'
import { RequestDeadline, waitUntilLate } from '../../../../src/core/request/deadline.js'
import { Slices } from '../../../../src/core/slices.js'
import { createDescribe } from '../../../../src/tools/openapi/create-describe.js'
import { describeService, writeDescription } from '../../../../src/tools/openapi/describe-service.js'
import { useCaches } from '../../../support/caches.js'

const { slice: SLICE } = bounds

useCaches()

// CONTRACT.md §8, "OpenAPI": documents are cached for callers of the same rights, within a size; §6, "Deadlines",
// "Scheduling".

/** A long value makes a document large: a few are more than may be kept. */
const LARGE = { kind: { type: 'string', enum: ['x'.repeat(400_000)] } }
const ROLES = ['a', 'b', 'c', 'd', 'e', 'f']

const create = (schema: object = {}) =>
  createDescribe({
    plan: compileConfig(
      {
        collections: {
          things: { schema, permissions: { user: { read: true } } },
          ...Object.fromEntries(
            ROLES.map((role) => [`of_${role}`, { schema: {}, permissions: { [role]: { read: true } } }]),
          ),
        },
      },
      { production: false, hasAuthenticate: true },
    ),
    accounts: null,
    deliver: undefined,
    page: undefined,
    hasHost: true,
    hasHooks: false,
  })

type Ask = (roles: readonly string[] | null, prefix?: string) => ReturnType<ReturnType<typeof create>>

const asking =
  (describe: ReturnType<typeof create>): Ask =>
  (roles, prefix = '') =>
    describe(
      {
        caller: roles && { id: 'ann', roles, fields: { _id: 'ann' } },
        deadline: { signal: new AbortController().signal, enter() {} },
      } as unknown as Call,
      { prefix, hasAccountRoutes: false },
    )

describe('a document', () => {
  test('is one and the same for callers of the same rights, whatever else their roles are', async () => {
    const ask = asking(create())
    const kept = await ask(['a', 'b'])
    for (const roles of [
      ['b', 'a'],
      ['a', 'a', 'b'],
      ['x', 'b', 'a', '__proto__'],
      [...ROLES.slice(0, 2), 'B'],
    ])
      expect(await ask(roles)).toBe(kept)
    const strangers = Array.from({ length: 1000 }, (_, i) => `x${i}`)
    expect(await ask([...strangers, 'a', 'b'])).toBe(kept)
  })

  test('is another for callers of other rights, below another path, and for nobody', async () => {
    const ask = asking(create())
    const all = [
      await ask(null),
      await ask([]),
      await ask(['a']),
      await ask(['b']),
      await ask(['a', 'b']),
      await ask(['a'], '/api'),
    ]
    expect(new Set(all).size).toBe(all.length)
    expect(new Set(all.map(({ bytes }) => new TextDecoder().decode(bytes))).size).toBe(all.length)
    expect(await ask(['a,b'])).toBe(all[1])
    expect(await ask(['a","b'])).toBe(all[1])
  })

  test('is forgotten when others have taken its place, and then made anew, the same', async () => {
    const ask = asking(create(LARGE))
    const first = await ask([])
    const rounds = Math.ceil((32 * 1024 * 1024) / first.bytes.length) + 1
    expect(rounds).toBeLessThan(2 ** ROLES.length)
    for (let set = 1; set < rounds; set += 1) await ask(ROLES.filter((_, at) => (set >> at) & 1))
    const again = await ask([])
    expect(again === first).toBe(false)
    expect(Buffer.compare(again.bytes, first.bytes)).toBe(0)
    expect((await ask([])) === again).toBe(true)
  })
})

const fields = Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`field${i}`, { type: 'string' }]))
const wide = compileConfig(
  {
    collections: {
      things: { schema: fields, permissions: { '*': { read: true }, editor: { create: true } } },
    },
  },
  { production: false, hasAuthenticate: true },
)

/** Describes, and counts how many descriptions were begun and how many of these are under way. */
function createStage() {
  let begun = 0
  const service = {
    accounts: null,
    deliver: undefined,
    page: undefined,
    hasHost: true,
    hasHooks: false,
    get plan() {
      begun += 1
      return wide
    },
  }
  const describe = createDescribe(service)
  const start = begun
  const ask = async (signal: AbortSignal, ...roles: string[]) =>
    describe({ caller: { id: 'ann', roles }, deadline: { signal, enter() {} } } as unknown as Call, {
      prefix: '',
      hasAccountRoutes: false,
    })
  return { ask, begun: () => begun - start }
}

const forever = new AbortController().signal

describe('descriptions', () => {
  test('are made one at a time, and once for all who ask together', async () => {
    const { ask, begun } = createStage()
    const all = [...Array.from({ length: 20 }, () => ask(forever)), ask(forever, 'editor')]
    await Promise.resolve()
    expect(begun()).toBe(1)
    const made = await Promise.all(all)
    expect(begun()).toBe(2)
    expect(new Set(made).size).toBe(2)
  })

  test('wait for nobody who has left', async () => {
    const { ask, begun } = createStage()
    const leaving = new AbortController()
    const gone = [ask(leaving.signal), ask(leaving.signal)].map((asked) => expect(asked).rejects.toThrow())
    const staying = ask(forever)
    leaving.abort()
    await Promise.all(gone)
    expect((await staying).bytes.length).toBeGreaterThan(1000)
    expect(begun()).toBe(2)
  })
})

/** A service of so many collections, in which everybody may do everything. */
const serviceOf = (collections: number) => ({
  plan: compileConfig(
    {
      collections: Object.fromEntries(
        Array.from({ length: collections }, (_, i) => [
          `c${i}`,
          { schema: { text: { type: 'string' } }, permissions: { '*': true } },
        ]),
      ),
    },
    { production: false, hasAuthenticate: true },
  ),
  accounts: null,
  deliver: undefined,
  page: undefined,
  hasHost: true,
  hasHooks: false,
})

/** Writes a description in slices: how many there are, and the most steps that one of them took. */
async function writeSliced(collections: number) {
  const own = { ...serviceOf(collections), hasAccountRoutes: false }
  let [slices, most] = [1, 0]
  class Counted extends Slices {
    override async next(): Promise<void> {
      most = Math.max(most, SLICE - this.left)
      slices += 1
      this.left = SLICE
    }
  }
  const pieces = await writeDescription(own, null, '', new Counted(SLICE))
  return { slices, most, own, pieces }
}

describe('a description of many collections', () => {
  test('takes slices in proportion to its collections, none of which is much longer for it', async () => {
    const few = await writeSliced(50)
    const many = await writeSliced(400)
    expect(many.slices / few.slices).toBeGreaterThan(6)
    expect(many.slices / few.slices).toBeLessThan(10)
    expect(many.most).toBeLessThan(SLICE * 1.5)
  })

  test('has its bytes in few pieces, which are the description as a whole', async () => {
    const { own, pieces } = await writeSliced(50)
    const bytes = Buffer.concat([...pieces])
    expect(JSON.parse(bytes.toString())).toEqual(structuredClone(describeService(own, null)))
    expect(pieces.length).toBeLessThan(20 + bytes.length / 32_000)
  })
})

describe('a deadline that ends', () => {
  afterEach(() => {
    vi.useRealTimers()
  })

  test.each(['while the description is made', 'while it waits for another'])(
    '%s is overload, which has nothing to do with storage',
    async (when) => {
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
      const describeTo = createDescribe(serviceOf(100))
      const found = { prefix: '', hasAccountRoutes: false }
      const other = when.includes('another')
        ? describeTo({ caller: null, deadline: { signal: forever, enter() {} } } as unknown as Call, {
            ...found,
            prefix: '/other',
          })
        : undefined
      const deadline = new RequestDeadline()
      const asked = waitUntilLate(
        Promise.resolve(describeTo({ caller: null, deadline } as unknown as Call, found)),
        deadline,
        { seconds: 1, onGone: () => () => {}, onSettled() {}, discard() {} },
      )
      vi.advanceTimersByTime(1000)
      await expect(asked).rejects.toMatchObject({ code: 'overloaded' })
      await other
    },
  )
})
