import { describe, expect, test } from 'vitest'
import { type Caller, createMemoryAdapter, type StorageAdapter } from '../../src/index.js'
import fc from '../support/fast-check.js'
import { REWRITES } from '../support/rewritten-tags.js'
import type { Sent } from '../support/service.js'
import { fieldsOf, idOf, LONG_AGO, openStored, readStored } from '../support/stored.js'
import { perRound, rounds, seedOf } from '../support/tier.js'
import { type WriteWorld, writeWorlds } from '../support/write-worlds.js'

// CONTRACT.md §2, "Update", "Concurrency"

type Json = { readonly [name: string]: unknown }

/** What is counted is the same in every run. */

const SEED = 1

const [RACES, PUTS, WORLDS] = [rounds(150, 300), rounds(300, 400), rounds(20, 40)]

const whole = { type: 'integer' }
const FIELDS = ['a', 'b', 'c']

/** What each caller may write; all of them read everything. */
const WRITABLE: { readonly [role: string]: readonly string[] } = {
  left: ['a', 'b'],
  right: ['b', 'c'],
  admin: FIELDS,
}
const permissions = {
  left: { read: true, update: { pick: WRITABLE.left } },
  right: { read: true, update: { pick: WRITABLE.right } },
  admin: true,
}

interface Asked {
  readonly method: 'PATCH' | 'PUT' | 'DELETE'
  readonly role: string
  readonly item: number
  /** Only if the document is as it was at the beginning. */
  readonly isConditional: boolean
  readonly body: { readonly [name: string]: number | null }
}

const value = fc.integer({ min: 0, max: 9 })
const bodyOf = (values: fc.Arbitrary<number | null>) =>
  fc.record({ a: values, b: values, c: values }, { requiredKeys: [] })
const update = (method: 'PATCH' | 'PUT', values: fc.Arbitrary<number | null>) =>
  fc.record({
    method: fc.constant(method),
    role: fc.constantFrom(...Object.keys(WRITABLE)),
    item: fc.constantFrom(1, 1, 1, 2),
    isConditional: fc.boolean(),
    body: bodyOf(values),
  })
const asked: fc.Arbitrary<Asked> = fc.oneof(
  { weight: 6, arbitrary: update('PATCH', fc.option(value, { freq: 6 })) },
  { weight: 3, arbitrary: update('PUT', value) },
  {
    weight: 1,
    arbitrary: fc.record({
      method: fc.constant('DELETE' as const),
      role: fc.constant('admin'),
      item: fc.constantFrom(1, 2),
      isConditional: fc.boolean(),
      body: fc.constant({}),
    }),
  },
)

type State = { readonly [name: string]: number } | undefined

/** What a request alone answers and leaves behind. */
function perform(
  { method, role, isConditional, body }: Asked,
  state: State,
  initial: State,
): [string, State] {
  if (!state) return ['404', state]
  if (isConditional && textOf(state) !== textOf(initial)) return ['412', state]
  if (method === 'DELETE') return ['204', undefined]
  const writable = WRITABLE[role] ?? []
  const named = Object.entries(body).filter(([name]) => writable.includes(name))
  const rest =
    method === 'PUT'
      ? Object.entries(state).filter(([name]) => !writable.includes(name))
      : Object.entries(state)
  const after = Object.fromEntries(
    [...rest, ...named].filter(([, one]) => one !== null),
  ) as NonNullable<State>
  for (const [name, one] of named) if (one === null) delete (after as Record<string, number>)[name]
  return [`200 ${textOf(after)}`, after]
}

const textOf = (state: Json | undefined): string =>
  state ? JSON.stringify(FIELDS.map((name) => state[name] ?? null)) : 'gone'

const outcomeOf = ({ status, body }: Sent): string =>
  status === 200 ? `200 ${textOf(body)}` : String(status)

/** Whether some order of the requests that are left gives these answers and ends in this state. */
function isSerial(
  left: readonly { readonly request: Asked; readonly outcome: string }[],
  state: State,
  initial: State,
  final: string,
): boolean {
  if (left.length === 0) return textOf(state) === final
  return left.some((one) => {
    const [outcome, after] = perform(one.request, state, initial)
    if (outcome !== one.outcome) return false
    return isSerial(
      left.filter((other) => other !== one),
      after,
      initial,
      final,
    )
  })
}

test('requests at the same time answer and leave behind what they would in some order, one after another', async () => {
  let overtaken = 0
  const time = { createdAt: LONG_AGO, updatedAt: LONG_AGO }
  await fc.assert(
    fc.asyncProperty(
      fc.scheduler(),
      fc.array(asked, { minLength: 2, maxLength: 5 }),
      fc.tuple(bodyOf(value), bodyOf(value)),
      async (scheduler, requests, states) => {
        const memory = createMemoryAdapter()
        let isOpen = false
        const wait = (what: string) =>
          isOpen ? scheduler.schedule(Promise.resolve(), what) : Promise.resolve()
        const adapter: StorageAdapter = {
          ...memory,
          async list(collection, query) {
            await wait('list')
            return memory.list(collection, query)
          },
          async write(steps, options) {
            await wait('write')
            const result = await memory.write(steps, options)
            if (!result.ok) overtaken += 1
            return result
          },
        }
        const service = await openStored(
          { collections: { items: { schema: { a: whole, b: whole, c: whole }, permissions } } },
          { items: states.map((state) => ({ ...state, ...time })) },
          // The clock stands, so that a tag says what the fields are.
          { adapter, authenticate: () => null, now: () => Date.parse(LONG_AGO) },
        )
        const tags = await Promise.all(
          [1, 2].map(async (item) => {
            const { headers } = await service.send(`GET /items/${idOf(item)}`, { caller: callerOf('admin') })
            return headers.get('etag') ?? ''
          }),
        )
        isOpen = true
        const answers = await scheduler.waitFor(
          Promise.all(
            requests.map(({ method, role, item, isConditional, body }, i) =>
              service.send(`${method} /items/${idOf(item)}`, {
                caller: callerOf(role),
                body,
                headers: isConditional ? { 'if-match': rewriteOf(i)(tags[item - 1] ?? '') } : {},
              }),
            ),
          ),
        )
        isOpen = false
        for (const item of [1, 2]) {
          const initial = states[item - 1] as State
          const left = requests.flatMap((request, i) =>
            request.item === item ? [{ request, outcome: outcomeOf(answers[i] as Sent) }] : [],
          )
          const final = (await readStored(service, 'items', idOf(item)))
            ? await fieldsOf(service, 'items', idOf(item))
            : undefined
          expect(
            isSerial(left, initial, initial, textOf(final)),
            `${JSON.stringify(left)} left ${textOf(final)}`,
          ).toBe(true)
        }
      },
    ),
    { numRuns: RACES, seed: seedOf(SEED) },
  )
  // The requests must really have met.
  expect(perRound(overtaken, RACES)).toBeGreaterThan(0.3)
})

/** Each request has its tag as it was given, or as a proxy would have it. */
const rewriteOf = (i: number) =>
  [(tag: string) => tag, ...REWRITES.map(([, rewrite]) => rewrite)][i] ?? String

const callerOf = (role: string): Caller => ({ id: role, roles: [role] })

const schema = {
  a: whole,
  b: whole,
  c: whole,
  d: { type: 'integer', default: 7 },
  once: { type: 'integer', immutable: true },
  pin: { type: 'hash' },
}
const NAMES = Object.keys(schema)
const UNHASHED = NAMES.filter((name) => name !== 'pin')

interface Words {
  readonly pick?: readonly string[]
  readonly omit?: readonly string[]
  readonly where?: Json
}

const wordsOf = (names: readonly string[]): fc.Arbitrary<Words> =>
  fc.record(
    { pick: fc.subarray([...names], { minLength: 3 }), omit: fc.subarray([...names], { maxLength: 1 }) },
    { requiredKeys: [] },
  )
const readWords: fc.Arbitrary<Words> = fc
  .tuple(
    wordsOf(UNHASHED),
    fc.option(fc.record({ a: fc.integer({ min: 0, max: 1 }) }), { nil: undefined, freq: 3 }),
  )
  .map(([words, where]) => (where ? { ...words, where } : words))

const includes = ({ pick, omit }: Words, name: string): boolean =>
  (pick?.includes(name) ?? true) && !(omit?.includes(name) ?? false)

const small = fc.integer({ min: 0, max: 2 })

test('a PUT changes nothing that its caller may not write, or may not read and does not name', async () => {
  let kept = 0
  let replaced = 0
  await fc.assert(
    fc.asyncProperty(
      fc.record({ '*': readWords, user: readWords, owner: readWords }, { requiredKeys: ['user'] }),
      wordsOf(NAMES),
      fc.record(
        { a: small, b: small, c: small, d: small, once: small, old: small },
        { requiredKeys: ['a', 'b', 'd', 'old'] },
      ),
      fc.record(
        { a: small, b: small, c: small, d: small, pin: fc.constant('a secret') },
        { requiredKeys: [] },
      ),
      // Most bodies leave alone what is set once.
      fc.constantFrom(undefined, undefined, undefined, 0, 1),
      fc.boolean(),
      async (reads, update, before, others, once, isOwner) => {
        const body = once === undefined ? others : { ...others, once }
        const grants = Object.entries(reads).map(([subject, read]) => [subject, { read }] as const)
        const config = {
          collections: {
            items: {
              schema,
              permissions: { ...Object.fromEntries(grants), user: { read: reads.user, update } },
            },
          },
        }
        const createdBy = isOwner ? 'ann' : 'bob'
        const service = await openStored(
          config,
          { items: [{ ...before, createdBy, _hashes: { pin: 'kept' } }] },
          { authenticate: () => null },
        )
        const { status } = await service.send(`PUT /items/${idOf(1)}`, { caller: { id: 'ann' }, body })
        const after = await fieldsOf(service, 'items', idOf(1))
        const hashes = (await readStored(service, 'items', idOf(1)))?._hashes as Json

        const matching = Object.entries(reads).filter(
          ([subject, { where }]) => (subject !== 'owner' || isOwner) && (where?.a ?? before.a) === before.a,
        )
        expect(status === 404).toBe(matching.length === 0)
        if (status !== 200) {
          expect(after).toEqual(before)
          expect(hashes).toEqual({ pin: 'kept' })
          return
        }
        const isReadable = (name: string): boolean => matching.some(([, words]) => includes(words, name))
        const sent: Json = body
        for (const name of [...UNHASHED, 'old']) {
          const isNamed = Object.hasOwn(body, name) && includes(update, name)
          const isReplaced = name !== 'old' && name !== 'once' && includes(update, name) && isReadable(name)
          const old = (before as Json)[name]
          const expected = isNamed ? sent[name] : isReplaced ? (name === 'd' ? 7 : undefined) : old
          expect(after[name], name).toBe(expected)
          if (!isNamed && old !== undefined) {
            if (isReplaced) replaced += 1
            else kept += 1
          }
        }
        expect(hashes.pin === 'kept').toBe(!(Object.hasOwn(body, 'pin') && includes(update, 'pin')))
      },
    ),
    { numRuns: PUTS, seed: seedOf(SEED) },
  )
  // Both must really have been at stake.
  expect(perRound(kept, PUTS)).toBeGreaterThan(0.3)
  expect(perRound(replaced, PUTS)).toBeGreaterThan(0.02)
})

describe('to one who reads everything', () => {
  const everyone = { permissions: { '*': true } }
  const ALL = { id: 'ann', roles: [] }

  /** A service over what a world stores, part of it out of date; every caller may do everything. */
  const openAll = async ({ config, pair: [{ things }] }: WriteWorld, ...more: Json[]) => {
    const { collections } = config
    const open = {
      collections: {
        things: { ...collections.things, ...everyone },
        people: { ...collections.people, ...everyone },
      },
    }
    return openStored(open, { things: [...things, ...more] }, { authenticate: () => null })
  }
  const withoutTime = ({ body: { updatedAt, ...rest } }: Sent): Json => rest

  test('what was read may be sent back, however much of it is out of date', async () => {
    let sent = 0
    await fc.assert(
      fc.asyncProperty(writeWorlds, async (world) => {
        const service = await openAll(world)
        for (const { _id } of world.pair[0].things) {
          const read = await service.send(`GET /things/${_id}`, { caller: ALL })
          for (const method of ['PATCH', 'PUT']) {
            const answer = await service.send(`${method} /things/${_id}`, { caller: ALL, body: read.body })
            // A default fills what is missing.
            const { d, ...expected } = withoutTime(read)
            const { d: given, ...after } = withoutTime(answer)
            expect([method, answer.status, after]).toEqual([method, 200, expected])
            expect(given).toEqual(d ?? (method === 'PUT' && definesDefault(world) ? 'a' : undefined))
            sent += 1
          }
        }
        await service.handler.close()
      }),
      { numRuns: WORLDS, seed: seedOf(SEED) },
    )
    expect(perRound(sent, WORLDS)).toBeGreaterThan(3)
  })

  test('a PATCH is judged by what it names alone', async () => {
    const seen = { valid: 0, invalid: 0 }
    await fc.assert(
      fc.asyncProperty(writeWorlds, async (world) => {
        const patches = world.requests.filter(({ line }) => line.startsWith('PATCH')).slice(0, 8)
        for (const { line, body: { u: _, ...body } = {} } of patches) {
          const whole = world.pair[0].things.find(({ _id }) => line.endsWith(String(_id)))
          if (!whole) continue
          const named = Object.entries(whole).filter(([name]) => Object.hasOwn(body, name))
          const twin = { ...Object.fromEntries(named), _id: idOf(99), createdBy: null }
          const service = await openAll(
            { ...world, pair: [{ ...world.pair[0], things: [whole] }, world.pair[1]] },
            twin,
          )
          const [one, other] = await Promise.all(
            [whole._id, twin._id].map((id) => service.send(`PATCH /things/${id}`, { caller: ALL, body })),
          )
          expect(one?.status).toBe(other?.status)
          expect(one?.body.errors).toEqual(other?.body.errors)
          seen[one?.status === 200 ? 'valid' : 'invalid'] += 1
          await service.handler.close()
        }
      }),
      { numRuns: WORLDS, seed: seedOf(SEED) },
    )
    expect(perRound(Math.min(seen.valid, seen.invalid), WORLDS)).toBeGreaterThan(0.5)
  })
})

/** Whether a PUT puts the default of `d` where it is missing. */
const definesDefault = ({ config }: WriteWorld): boolean => {
  const { d } = config.collections.things.schema as { readonly d?: Json }
  return d !== undefined && !d.immutable
}
