import { DELIVERIES_PLAN } from '../accounts/auth/deliveries.js'
import { LEDGERS_PLAN } from '../accounts/auth/ledger.js'
import { SESSIONS_PLAN } from '../accounts/auth/sessions.js'
import { plansOf } from '../changes/log/log-plans.js'
import type { Collection } from '../config/plan.js'
import { buildDocument, createSystemFields, isCreator } from '../documents/write/new-document.js'
import type { Fault } from '../errors.js'
import { isSystemField, suggest } from '../fields/schema/names.js'
import { addNearNames } from '../fields/schema/near-names.js'
import { applyDefaults, normaliseProperties } from '../fields/schema/normalise.js'
import { collectReferences, type Reference } from '../fields/schema/references.js'
import { MAX_FAULTS } from '../fields/schema/validator.js'
import { parseTimestamp } from '../fields/timestamp.js'
import { findUnstorable, isStorable } from '../json/domain.js'
import { isObject, isPlainObject, pickWhere, readOwn } from '../json/own-properties.js'
import { type BodyReport, reportFirst } from '../json/report.js'
import { isUuid, lowerUuid } from '../json/uuid.js'
import { planAgreements } from '../references/matches.js'
import { requireReference } from '../references/references.js'
import { Call, type Service } from '../request/call.js'
import { AT_START, UNHURRIED } from '../request/deadline.js'
import { brokenReference, conflict, invalid } from '../request/refusals.js'
import type { Agreement } from '../request/store/attempt.js'
import { createStore } from '../request/store.js'
import { endOfTurn } from '../slices.js'
import type { StorageAdapter, StoredDocument, WriteStep } from '../storage.js'
import { originOf } from '../stored/names/renamed-storage.js'
import { compareRecord, reserveNames } from '../stored/record/compare-record.js'
import { SCHEMA_PLAN } from '../stored/record/schema-record.js'
import type { JsonObject, MaybePromise } from '../types.js'
import { warnOfStored } from './warn-of-stored.js'

const seeded = new WeakMap<StorageAdapter, Promise<void>>()

/**
 * Stores the seed of an adapter, all documents or none, once for all services that use the adapter. The documents are
 * validated like bodies of a caller with all rights, but keep `_id`, `createdAt`, `updatedAt` and `createdBy`. Throws
 * `validation_failed` with all validation errors, whose `path` is a JSON pointer into the seed, or `unique_violation`.
 */
function storeSeed(service: Service, adapter: StorageAdapter): Promise<void> {
  const origin = originOf(adapter)
  const known = seeded.get(origin)
  if (known) return known
  const store = createStore(adapter, UNHURRIED)
  const call = new Call(service, { deadline: UNHURRIED, store, caller: null, session: undefined })
  const storing = storeAll(call, adapter.seed)
  seeded.set(origin, storing)
  // After a failure, the next `open` stores the seed again.
  storing.catch(() => seeded.delete(origin))
  return storing
}

async function storeAll(call: Call, seed: unknown): Promise<void> {
  const { plan } = call.service
  if (seed === undefined) return
  if (!isPlainObject(seed)) throw invalid([{ path: '', code: 'wrong_type', message: 'must be an object' }])
  const faults: Fault[] = []
  const report = reportFirst(faults, MAX_FAULTS)
  const drafts: SeedDraft[] = []
  const seeding = { call, accounts: findAccounts(call.service, seed) }
  for (const [name, documents] of Object.entries(seed)) {
    const collection = plan.collections.get(name)
    if (collection && Array.isArray(documents)) {
      const own = report.at(name)
      for (const [i, document] of documents.entries()) {
        const draft = judge(seeding, collection, document, own.at(i))
        if (draft) drafts.push(draft)
      }
      continue
    }
    const message = collection
      ? 'must be an array of documents'
      : `is not a collection of the configuration${suggest(name, [...plan.collections.keys()])}`
    report.at(name).fault('unknown_collection', message)
  }
  // Secrets are hashed after all checks, because hashing takes long.
  if (faults.length > 0) throw invalid(faults)
  const inserts: WriteStep[] = []
  const references: Reference[] = []
  const agreements: Agreement[] = []
  for (const { collection, document, path } of drafts) {
    const insert = typeof document === 'function' ? await document() : await document
    inserts.push({ in: collection.name, insert })
    references.push(...collectReferences(collection.fields, insert, path))
    agreements.push(...planAgreements(plan, collection, { after: insert, at: path }))
  }
  await call.store.write(() => ({
    // Documents may refer to each other in any order.
    steps: [...inserts, ...references.map(requireReference), ...agreements.flatMap(({ step }) => step ?? [])],
    done: undefined,
    refuse({ reason, step, fields = [] }) {
      const broken = agreements[step - inserts.length - references.length]?.refuse
      if (broken) throw broken()
      if (reason === 'missing') throw brokenReference(references[step - inserts.length])
      throw conflict(fields, drafts[step]?.path)
    },
  }))
}

/** A valid document of the seed. It is stored after its secrets are hashed. */
interface SeedDraft {
  readonly collection: Collection
  /**
   * The document, or a function that builds it if it has secrets to hash. Without secrets it is built immediately, so
   * that a seed of a million documents is not in memory twice.
   */
  readonly document: MaybePromise<StoredDocument> | (() => MaybePromise<StoredDocument>)
  readonly path: string
}

interface Seeding {
  readonly call: Call
  /** The `_id`s of the accounts in the seed, in stored form. */
  readonly accounts: ReadonlySet<string>
}

function findAccounts({ accounts }: Service, seed: JsonObject): Seeding['accounts'] {
  const users = accounts ? readOwn(seed, accounts.users.name) : undefined
  const documents: readonly unknown[] = Array.isArray(users) ? users : []
  return new Set(documents.flatMap((one) => (isObject(one) ? (readId(readOwn(one, '_id')) ?? []) : [])))
}

const readId = (value: unknown): string | undefined => {
  const id = typeof value === 'string' ? lowerUuid(value) : ''
  return isUuid(id) ? id : undefined
}

/** Validates a document of the seed; returns `undefined` if it is invalid. */
function judge(
  { call, accounts }: Seeding,
  collection: Collection,
  document: unknown,
  report: BodyReport,
): SeedDraft | undefined {
  if (!isObject(document)) {
    report.fault('wrong_type', 'must be an object')
    return undefined
  }
  if (!isStorable(document)) {
    findUnstorable(document, report)
    return undefined
  }
  const given = readSystemFields(document, report)
  const own = createSystemFields(call, collection, given._id ?? call.service.createId())
  const declared = collection.fields
  const body = normaliseProperties(
    declared,
    pickWhere(document, (name) => !isSystemField(name)),
  )
  const fields = applyDefaults(declared, body, call.service.clock())
  const faults = collection.validate(fields)
  for (const { path, code, message } of addNearNames(faults, declared))
    report.within(path).fault(code, message)
  if (faults.length > 0) return undefined
  const system = { ...own, ...given }
  const creator = lowerUuid(system.createdBy ?? '')
  // If the creator is an account of the seed, `createdBy` gets the lower case of its `_id`. Any other creator is a
  // caller of the host.
  const named = accounts.has(creator) ? { ...system, createdBy: creator } : system
  const build = () => buildDocument(call, collection, { system: named, fields })
  return { collection, document: collection.hashes.length > 0 ? build : build(), path: report.path }
}

interface GivenSystemFields {
  readonly _id?: string
  readonly createdAt?: string
  readonly updatedAt?: string
  readonly createdBy?: string | null
}

/** Reads the system fields of a document of the seed, and converts them to stored form. */
function readSystemFields(document: JsonObject, report: BodyReport): GivenSystemFields {
  const given: { [name: string]: unknown } = {}
  for (const name in SYSTEM_FIELDS) {
    const [read, expected] = SYSTEM_FIELDS[name as keyof GivenSystemFields]
    if (!Object.hasOwn(document, name)) continue
    given[name] = read(document[name])
    if (given[name] === undefined) report.at(name).fault('wrong_type', expected)
  }
  return given
}

const TIME = [
  (value: unknown) => (typeof value === 'string' ? parseTimestamp(value) : undefined),
  'must be an RFC 3339 date-time',
] as const

const SYSTEM_FIELDS: {
  readonly [name in keyof GivenSystemFields]-?: readonly [
    read: (value: unknown) => string | null | undefined,
    expected: string,
  ]
} = {
  _id: [readId, 'must be a UUID'],
  createdAt: TIME,
  updatedAt: TIME,
  createdBy: [
    (value) => (value === null || isCreator(value) ? value : undefined),
    'must be the _id of a user, of at most 1,024 bytes, or null',
  ],
}

/** The state of a service: `closed` before its first opening, `failed` after an opening that failed. */
export type LifecycleState = 'closed' | 'opening' | 'failed' | 'open' | 'closing'

/** Opens the storage once, and closes it after the last request. */
export interface Lifecycle {
  /** Opens the storage, if it is not open. Rejects with the cause. A later call tries again, at most once a second. */
  open(): MaybePromise<undefined>
  isOpen(): boolean
  state(): LifecycleState
  close(): Promise<void>
  /** Counts work for which `close` waits, until the returned function is called. */
  track(): () => void
  /** Counts a response that is being sent. It may take as long as its client reads. */
  trackAnswer(): Answering
}

/** A response that is being sent. */
export interface Answering {
  /** Notes that the client has read another part. */
  goesOn(): void
  end(): void
}

/** Work that begins when the storage is open, and ends before the storage is closed. */
export interface Worker {
  begin(): Promise<void>
  end(): Promise<void>
}

/** The milliseconds between two attempts to open the storage. */
const PAUSE = 1000

/**
 * The milliseconds after which `close` no longer waits if no response made progress: twice the timeout of a response
 * that no client reads.
 */
const PATIENCE = 60_000

/** The milliseconds between two checks of this progress. */
const LOOK = 1000

/** Creates the lifecycle of a service. */
export function createLifecycle(service: Service, adapter: StorageAdapter, worker?: Worker): Lifecycle {
  const { plan, accounts } = service
  let state: Exclude<LifecycleState, 'closing'> = 'closed'
  let opening: Promise<undefined> | undefined
  let failedAt = 0
  let closing: Promise<void> | undefined
  const [work, answers] = [createCount(), createCount()]
  /** The time at which a part of a response was last read. */
  let partAt = 0
  let stopComparing = (): void => {}
  const goesOn = (): void => {
    partAt = performance.now()
  }
  const openStorage = async (): Promise<undefined> => {
    const plans = plansOf(plan)
    try {
      const own = service.deliver
        ? [SESSIONS_PLAN, LEDGERS_PLAN, DELIVERIES_PLAN]
        : [SESSIONS_PLAN, LEDGERS_PLAN]
      await adapter.open([...plans, ...(accounts ? own : []), SCHEMA_PLAN])
      const store = createStore(originOf(adapter), AT_START)
      const record = await compareRecord(store, plan.collections)
      reserveNames(plan, record.names)
      for (const { pointer, message } of record.dropped)
        service.logger.warn(`${pointer}: ${message}`, { code: 'stored_dropped' })
      // Documents in memory that no other service stored are those of the seed, which is validated.
      const isFresh = adapter.system === 'memory' && !seeded.has(originOf(adapter))
      await storeSeed(service, adapter)
      await worker?.begin()
      state = 'open'
      if (!isFresh && !closing) stopComparing = warnOfStored(service, adapter)
      return undefined
    } catch (cause) {
      state = 'failed'
      failedAt = performance.now()
      throw cause
    }
  }
  const waitUntilIdle = async (): Promise<void> => {
    await opening?.catch(() => {})
    const ending = worker?.end()
    await work.idle()
    await ending
  }
  const closeStorage = async (): Promise<void> => {
    // By then every request has its response. Other work that never ends must not keep the process alive.
    let timer: ReturnType<typeof setTimeout> | undefined
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, plan.limits.requestSeconds * 1000)
    })
    await Promise.race([waitUntilIdle(), late])
    clearTimeout(timer)
    const stuck = lookFor(() => performance.now() - partAt > PATIENCE)
    await Promise.race([answers.idle(), stuck.found])
    stuck.stop()
    // Responses are sent at the end of a turn of the event loop; the last response may wait for the next turn.
    await endOfTurn()
    await endOfTurn()
    if (opening) await adapter.close()
  }
  return {
    open() {
      if (closing) return Promise.reject(new Error('the service is closed'))
      if (state === 'open') return undefined
      if (state === 'closed' || (state === 'failed' && performance.now() - failedAt >= PAUSE)) {
        state = 'opening'
        opening = openStorage()
        // The callers of `open` receive the failure. If there are none, it must not end the process.
        opening.catch(() => {})
      }
      return opening
    },
    isOpen: () => state === 'open' && !closing,
    state: () => (closing ? 'closing' : state),
    close() {
      stopComparing()
      closing ??= closeStorage()
      return closing
    },
    track: work.enter,
    trackAnswer() {
      goesOn()
      return { goesOn, end: answers.enter() }
    },
  }
}

/** Counts running work. */
function createCount(): { enter(): () => void; idle(): Promise<void> } {
  let count = 0
  let onIdle: (() => void) | undefined
  const leave = (): void => {
    count -= 1
    if (count === 0) onIdle?.()
  }
  return {
    enter() {
      count += 1
      return leave
    },
    async idle() {
      if (count === 0) return
      await new Promise<void>((resolve) => {
        onIdle = resolve
      })
    },
  }
}

/** Checks at intervals whether a condition is true. */
function lookFor(holds: () => boolean): { readonly found: Promise<void>; stop(): void } {
  let looking: ReturnType<typeof setInterval> | undefined
  const found = new Promise<void>((resolve) => {
    looking = setInterval(() => {
      if (holds()) resolve()
    }, LOOK)
  })
  return { found, stop: () => clearInterval(looking) }
}
