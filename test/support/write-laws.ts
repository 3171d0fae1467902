import { expect } from 'vitest'
import { everything } from '../../src/core/filter/filter.js'
import {
  type Config,
  createCollectionService,
  createMemoryAdapter,
  type OptionsFor,
  type StoredDocument,
} from '../../src/index.js'
import fc from './fast-check.js'
import { holdOthers } from './judged.js'
import type { CreateAdapter, Worlds } from './laws.js'
import { NOW, type OracleCaller, readersOf, viewsOf, writeRulesOf } from './oracle.js'
import { seedOf } from './tier.js'
import { raiseIds } from './worlds.js'
import { type Store, type WriteRequest, type WriteWorld, writeWorlds } from './write-worlds.js'

type Json = { readonly [name: string]: unknown }

export interface Answer {
  readonly status: number
  readonly code: unknown
  /** The answer but for what is random in it. */
  readonly comparable: string
  /** The names that were dropped, of a batch those of the first operation that has lost any. */
  readonly ignored: readonly string[]
  /** The names that were refused for it (CONTRACT.md §6, "Headers"). */
  readonly refused: readonly string[]
}

/** A service over a store that can be put back, as one caller meets it. */
export interface Side {
  readonly ask: (request: WriteRequest) => Promise<Answer>
  readonly reset: () => Promise<void>
  readonly read: () => Promise<Store>
  /** Opens a stream of changes. */
  readonly watch: (path: string) => Promise<Response>
  readonly close: () => Promise<void>
}

/** Hashing is not what is looked at here. */
const hasher = { hash: async () => 'hashed', verify: async () => false }
const silent = { info() {}, warn() {} }

/** What hooks may do wrong in these worlds: they cannot know how large a document is. */
const FORGIVEN = /was rejected: The document has more than \d+ bytes/

export async function openSide(
  { config, caller, hooks }: WriteWorld,
  store: Store,
  { create = createCollectionService, createAdapter = createMemoryAdapter }: Building,
): Promise<Side> {
  const adapter = createAdapter()
  const failures: unknown[] = []
  /** Throws what was not meant to happen. */
  const checkFailure = ({ status }: Response): void => {
    const failed = status >= 500 ? failures.splice(0) : []
    if (status < 500 || (failed.length > 0 && failed.every((cause) => FORGIVEN.test(causesOf(cause))))) return
    throw new Error(`a request failed: ${status}`, { cause: failed[0] })
  }
  const options = {
    ...((hooks ? { hooks } : {}) as OptionsFor<Config>),
    now: () => Date.parse(NOW),
    authenticate: () => null,
    hasher,
    production: false,
    logger: { ...silent, error: (_: string, details: Json = {}) => failures.push(details.cause) },
  }
  const handler = create(config as unknown as Config, adapter, holdOthers(options))
  await handler.ready()
  const asCaller = handler.as(caller)
  const { people: _, things: __, ...others } = config.collections
  const names = ['people', 'things', ...Object.keys(others)]
  const query = { filter: everything, sort: [], skip: 0, limit: null }
  return {
    async ask({ line, body, headers, operations }) {
      const text = body && JSON.stringify(body)
      // Some software writes ids in upper case.
      const spell = (line + text).length % 2 ? raiseIds : String
      const [method = '', path = ''] = line.split(' ')
      const init = { method, headers: { 'content-type': 'application/json', ...headers } }
      const sent = new Request(`http://service.test${spell(path)}`, {
        ...init,
        ...(text ? { body: spell(text) } : {}),
      })
      const response = await asCaller(sent)
      checkFailure(response)
      return operations ? readBatch(response) : readAnswer(response, method === 'POST')
    },
    async reset() {
      const inserts = names.flatMap((name) =>
        (store[name] ?? []).map((one) => ({
          in: name,
          insert: { ...one, _version: 1 } as unknown as StoredDocument,
        })),
      )
      const removals = names.map((name) => ({ in: name, remove: everything }))
      expect(await adapter.write([...removals, ...inserts], {})).toMatchObject({ ok: true })
    },
    async read() {
      const [people = [], things = [], ...rest] = await Promise.all(
        names.map(async (name) => (await adapter.list(name, query)) as readonly Json[]),
      )
      return { people, things, ...Object.fromEntries(rest.map((one, i) => [names[i + 2], one])) }
    },
    watch: async (path) => asCaller(new Request(`http://service.test${path}`)),
    close: () => handler.close(),
  }
}

/** What an error says, and what its causes say. */
const causesOf = (thrown: unknown): string =>
  thrown instanceof Error ? `${thrown.message}; ${causesOf(thrown.cause)}` : ''

async function readAnswer(response: Response, isNew: boolean): Promise<Answer> {
  const { status, headers } = response
  const random = isNew ? ['etag', 'location'] : []
  const kept = [...headers].filter(([name]) => !random.includes(name))
  const text = await response.text()
  const code: unknown = status < 400 ? undefined : JSON.parse(text).code
  const fixed = text.replace(/"requestId":"[^"]*"/, '')
  const known = isNew ? fixed.replaceAll(/"_id":"[^"]*"/g, '') : fixed
  const ignored = namesIn(headers)
  return {
    status,
    code,
    comparable: JSON.stringify([status, kept, known]),
    ignored,
    refused: refusedIn(text),
  }
}

const namesIn = (headers: Headers): readonly string[] =>
  JSON.parse(`[${headers.get('ignored-properties') ?? ''}]`)

/** The names of the faults of what a strict request may not lose, each once, in order. */
function refusedIn(text: string): readonly string[] {
  if (!text.includes('"ignored"')) return []
  const { errors = [] }: { errors?: readonly { path: string; code: string }[] } = JSON.parse(text)
  const names = errors.flatMap(({ path, code }) => (code === 'ignored' ? [path.replace(/^.*\//, '')] : []))
  return [...new Set(names)].sort()
}

/** The answer of a batch, with those of its operations but for what is random in them. */
async function readBatch(response: Response): Promise<Answer> {
  const { status, headers } = response
  const text = await response.text()
  const { requestId: _, results, ...rest } = JSON.parse(text)
  const kept = (results ?? []).map((result: Json) => {
    if (result.status !== 201) return result
    const { etag: __, location: ___, body, ...known } = result
    const { _id, ...fields } = (body ?? {}) as Json
    return { ...known, body: fields }
  })
  const comparable = JSON.stringify([status, [...headers], rest, kept])
  const ignored = (results ?? []).find((result: Json) => result.ignored)?.ignored ?? []
  return { status, code: rest.code, comparable, ignored, refused: refusedIn(text) }
}

/** The same request, and its operations, where nothing may be dropped. */
const strictly = (request: WriteRequest): WriteRequest => ({
  ...request,
  headers: { ...request.headers, prefer: 'handling=strict' },
  ...(request.operations ? { operations: request.operations.map(strictly) } : {}),
})

/** What may account for a difference (CONTRACT.md §5, "No leak"). */
export type Account = 'uniqueness' | 'references' | 'where' | 'check'

/** A request that two sides did not answer the same. */
export interface Difference {
  readonly before: readonly [Store, Store]
  readonly after: readonly [Store, Store]
  readonly answers: readonly [Answer, Answer]
}

/** Whether references refuse a request. */
export const isReferenceRefusal = ({ code, comparable }: Answer): boolean =>
  code === 'reference_in_use' || comparable.includes('unknown_reference')

/** The caller, as a store makes them. */
export const callerIn = ({ caller, callerIn }: WriteWorld, store: Store): OracleCaller =>
  callerIn?.(store) ?? caller

/** Which of the things that may tell two stores apart has done so; `undefined` where nothing should have. */
export function account(
  world: WriteWorld,
  { line, body = {}, headers }: WriteRequest,
  { before, after, answers }: Difference,
): Account | undefined {
  const { things } = world.config.collections
  const callers = before.map((store) => callerIn(world, store))
  const [, id = ''] = /^(?:PATCH|PUT|DELETE) \/\w+\/(.*)$/.exec(line) ?? []
  const both = [0, 1] as const
  const refusedIn = (code: string) => both.filter((i) => answers[i].code === code)
  const taken = (value: unknown, { things }: Store): boolean =>
    things.some(({ _id, u }) => _id !== id && u === value && u !== undefined)
  const written = [body, ...((body.documents as Json[] | undefined) ?? []), { u: 'a1' }]
  const takenIn = both.map((i) => written.map(({ u }) => taken(u, before[i])))
  const [conflict, other] = refusedIn('unique_violation')
  // Where both are refused, a bulk tells which of its documents has come upon a value.
  const isTold =
    other === undefined
      ? conflict !== undefined && takenIn[conflict]?.includes(true)
      : JSON.stringify(takenIn[0]) !== JSON.stringify(takenIn[1])
  if (isTold) return 'uniqueness'
  const targets = both.map((i) => before[i].things.find(({ _id }) => _id === id))
  // Whether an `_id` is taken is told to anyone who would create under it.
  const isClaim = headers?.['if-none-match'] !== undefined
  if (isClaim && (targets[0] === undefined) !== (targets[1] === undefined)) return 'uniqueness'
  if (line.startsWith('DELETE /people')) {
    const refersIn = both.map((i) => before[i].things.some(({ r }) => r === id))
    return refersIn[0] || refersIn[1] ? 'references' : undefined
  }
  const [one, two] = targets
  if (!one || !two || isClaim || /^(?:GET|POST)/.test(line)) return undefined
  const operation = line.startsWith('DELETE') ? 'delete' : 'update'
  const [here = [], there = []] = [one, two].map((target, i) =>
    writeRulesOf(things, operation, target, callers[i] ?? world.caller),
  )
  if (JSON.stringify(here) !== JSON.stringify(there)) return 'where'
  // What a write makes readable is shown, and counts.
  const readers = [...before, ...after].map((store) => {
    const written = store.things.filter(({ _id }) => _id === id)
    return written.map((thing) => readersOf(things, thing, callerIn(world, store)))
  })
  if (new Set(readers.map((some) => JSON.stringify(some))).size > 1) return 'where'
  type ReadRule = { readonly where?: Json }
  const grants = Object.values(things.permissions) as { readonly read?: ReadRule | readonly ReadRule[] }[]
  const isConditional = grants.some(({ read }) =>
    [read ?? []].flat().some(({ where }) => where !== undefined),
  )
  if (isConditional && refusedIn('document_too_large').length === 1) return 'where'
  const [view = {}] = viewsOf(things, [one], callers[0] ?? world.caller)
  const isHidden = (path: string): boolean => !Object.hasOwn(view, path)
  return here.some(({ check, where }) => pathsOf(check ?? where).some(isHidden)) ? 'check' : undefined
}

const pathsOf = (where: Json | undefined): readonly string[] =>
  Object.entries(where ?? {}).flatMap(([path, condition]) =>
    path.startsWith('$') ? (condition as Json[]).flatMap(pathsOf) : [path],
  )

/** What is built: the library, or a mutant of it, over which storage. */
export interface Building {
  readonly create?: typeof createCollectionService
  readonly createAdapter?: CreateAdapter
  /** Whether it stores everything under other names. */
  readonly isElsewhere?: true
}

/** The answers of both sides to one request. */
interface Compared {
  readonly status: number
  readonly code: unknown
  readonly isSame: boolean
  readonly why?: Account | undefined
  readonly answer: Answer
}

/** The worlds that are asked about, and what holds of them besides. */
export interface WriteSource {
  readonly worlds: fc.Arbitrary<WriteWorld>
  /** What accounts for a difference between the answers. Default: what does in every world. */
  readonly account?: typeof account
  /** What accounts for a difference that only a batch shows, and none of its operations alone. */
  readonly accountTogether?: typeof account
  /** Throws where a request on one side has not done what it should have. */
  readonly judge?: (world: WriteWorld, request: WriteRequest, done: Done) => void
}

/** What a request has done to one store. */
export interface Done {
  readonly before: Store
  readonly after: Store
  readonly answer: Answer
}

/**
 * How many pairs were different, what became of their requests (`refused`: by hooks; `strict`: for what would have been
 * dropped), and what accounted for differences.
 */
export type Seen = {
  [what in Account | 'pairs' | 'same' | 'written' | 'batches' | 'refused' | 'strict']: number
}

/** Throws where a strict request has lost something, or was refused for it and has changed something. */
function judgeStrict(request: WriteRequest, { before, after, answer }: Done): void {
  if (answer.status < 300) expect({ request, ignored: answer.ignored }).toEqual({ request, ignored: [] })
  if (answer.refused.length > 0) expect({ request, after }).toEqual({ request, after: before })
}

/**
 * Non-interference of writes (CONTRACT.md §5, "No leak"): two stores that show a caller the same answer every write of that
 * caller identically, and show the same afterwards, unless uniqueness, references, `where` or `check` account for it.
 * Throws on a counterexample. The worlds are the same in every run.
 */
export async function checkWrites(
  runs: Worlds,
  building: Building = {},
  { worlds, account: accountFor = account, accountTogether, judge }: WriteSource = { worlds: writeWorlds },
): Promise<Seen> {
  const accounts = { uniqueness: 0, references: 0, where: 0, check: 0 }
  const seen: Seen = { pairs: 0, same: 0, written: 0, batches: 0, refused: 0, strict: 0, ...accounts }
  await fc.assert(
    fc.asyncProperty(worlds, async (world) => {
      const { pair, requests, config } = world
      const show = (store: Store): string => {
        const caller = callerIn(world, store)
        const views = Object.entries(config.collections).map(([name, one]) =>
          viewsOf(one, store[name] ?? [], caller),
        )
        return JSON.stringify(views)
      }
      expect(JSON.parse(show(pair[1]))).toEqual(JSON.parse(show(pair[0])))
      if (JSON.stringify(pair[0]) !== JSON.stringify(pair[1])) seen.pairs += 1
      const sides = [
        await openSide(world, pair[0], building),
        await openSide(world, pair[1], building),
      ] as const
      const onBoth = async <T>(ask: (side: Side) => Promise<T>): Promise<readonly [T, T]> => [
        await ask(sides[0]),
        await ask(sides[1]),
      ]
      const reset = (): Promise<unknown> => onBoth((side) => side.reset())
      /** Asks on both sides; says what accounts for a difference, and throws where nothing does. */
      const compare = async (
        request: WriteRequest,
        earlier: readonly WriteRequest[] = [],
      ): Promise<Compared> => {
        const before = await onBoth(({ read }) => read())
        const answers = await onBoth(({ ask }) => ask(request))
        const after = await onBoth(({ read }) => read())
        for (const i of [0, 1] as const)
          judge?.(world, request, { before: before[i], after: after[i], answer: answers[i] })
        const [here, there] = answers.map(({ comparable }) => comparable)
        // What is new has another `_id` on each side.
        const done = [...earlier, request, ...(request.operations ?? [])]
        const isNew = done.some(({ line }) => /^POST \/t/.test(line))
        const [shown, shownThere] = isNew ? [] : after.map(show)
        const [answer] = answers
        const { status, code } = answer
        const compared = { status, code, answer, isSame: here === there && shown === shownThere }
        for (const i of [0, 1] as const)
          if (request.headers?.prefer)
            judgeStrict(request, { before: before[i], after: after[i], answer: answers[i] })
        if (compared.isSame) return compared
        const why = request.operations
          ? ((await compareOneByOne(request.operations)) ??
            accountTogether?.(world, request, { before, after, answers }))
          : accountFor(world, request, { before, after, answers })
        const common = { request, before }
        if (why === undefined) {
          const [one, other] = [here, there].map((answer) => ({ ...common, answer }))
          expect({ ...one, shown }).toEqual({ ...other, shown: shownThere })
        }
        return { ...compared, why }
      }
      /**
       * What accounts for the first difference between the operations of a batch, each alone. An operation that
       * references refuse when it is alone may succeed in the batch, so those after it are compared too.
       */
      const compareOneByOne = async (operations: readonly WriteRequest[]): Promise<Account | undefined> => {
        await reset()
        for (const [i, operation] of operations.entries()) {
          const { why, status, answer } = await compare(operation, operations.slice(0, i))
          if (why !== undefined) return why
          if (status >= 400 && !isReferenceRefusal(answer)) return undefined
        }
        return undefined
      }
      await reset()
      let isMoved = false
      for (const request of requests) {
        if (request.operations && isMoved) await reset()
        const strict = await compare(strictly(request))
        const isRefused = strict.isSame && strict.answer.refused.length > 0
        const { isSame, why, status, code, answer } = isRefused ? await compare(request) : strict
        // What is refused is what would have been dropped, by the same rule.
        if (isRefused && status < 300) expect(answer.ignored).toEqual(strict.answer.refused)
        if (isRefused) seen.strict += 1
        if (why !== undefined) seen[why] += 1
        if (isSame) seen.same += 1
        if (isSame && code === 'refused') seen.refused += 1
        if (isSame && status < 300) seen.written += 1
        if (isSame && status < 300 && request.operations) seen.batches += 1
        // From where the stores no longer show the same, have other ids or a document less, nothing follows.
        const isOver = !isSame || (status < 300 && !/^P(?:ATCH|UT)/.test(request.line))
        if (isOver) await reset()
        isMoved = !isOver && (isMoved || status < 300)
      }
      await onBoth(({ close }) => close())
    }),
    {
      seed: seedOf(SEED),
      endOnFailure: true,
      ...(typeof runs === 'number' ? { numRuns: runs } : { numRuns: 1, path: runs }),
    },
  )
  return seen
}

const SEED = 7
