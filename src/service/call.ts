import type { Session } from '../auth/sessions.js'
import type { Throttle } from '../auth/throttle.js'
import type { AuthPlan, Collection, ServicePlan } from '../config/plan.js'
import { type Asking, bindVariables, type Clock, type KnownCaller } from '../permissions/caller.js'
import { createRuleJudges, type RuleJudge } from '../permissions/judge-rule.js'
import { createTextStore } from '../permissions/kept-texts.js'
import { createReadGate, type ReadAccess, type ReadGate } from '../permissions/read-gate.js'
import { createQueryReader, type ReadQuery } from '../query/query-reader.js'
import type { Binding } from '../query/variable.js'
import { runSliced, type Slice, type Sliced } from '../slices.js'
import type { Hasher, Logger, MaybePromise } from '../types.js'
import type { Attachment } from './attachment.js'
import type { Deadline } from './deadline.js'
import { createKeptPages, type KeptPages } from './kept-pages.js'
import type { Store } from './store.js'

/** What all calls share: created once, never changed. */
export interface Service {
  readonly plan: ServicePlan
  /** The accounts that the service keeps; `null` for none. */
  readonly accounts: AuthPlan | null
  readonly hasher: Hasher
  /** A hash that no secret has, at the cost of the others. */
  readonly decoy: () => Promise<string>
  readonly logger: Logger
  readonly throttle: Throttle
  /** Milliseconds since 1970. */
  readonly now: () => number
  /** The same in stored form. Throws outside the years 0001 to 9999. */
  readonly clock: Clock
  /** Creates an `_id`. */
  readonly createId: () => string
  /** By collection. */
  readonly gates: ReadonlyMap<string, ReadGate>
  readonly createRuleJudge: (asking: Asking) => RuleJudge
  readonly pages: KeptPages
  /** Reads the query strings of requests. */
  readonly readQuery: ReadQuery
  /** What else belongs to the documents, by collection. */
  readonly attachments: ReadonlyMap<string, Attachment>
}

/** Compiles what a service needs of its rules before the first call. */
export function compileRules({
  collections,
  limits,
}: ServicePlan): Pick<Service, 'gates' | 'createRuleJudge' | 'readQuery' | 'pages'> {
  let keys = 0
  const options = { keepTexts: createTextStore(), createKey: () => ++keys }
  return {
    gates: new Map(
      [...collections.values()].map((collection) => [collection.name, createReadGate(collection, options)]),
    ),
    readQuery: createQueryReader(limits),
    pages: createKeptPages(),
    createRuleJudge: createRuleJudges(),
  }
}

/** What the operations of a batch have in common. */
export interface Shared {
  /** The documents that were deleted because others were. */
  cascaded: number
}

/** The parts of a call. */
interface CallParts {
  readonly deadline: Deadline
  readonly store: Store
  readonly caller: KnownCaller | null
  /** The session of a caller who signed in by a token of the service. */
  readonly session: Session | undefined
  /** Of a call in a batch. */
  readonly shared?: Shared | undefined
}

/** One request on its way through the service: its caller, its deadline, and its access. */
export interface Call extends CallParts, Asking {
  readonly service: Service
  readonly judge: RuleJudge
  /** What the caller may read of a collection; `null` for nothing. */
  access(collection: Pick<Collection, 'name'>): ReadAccess | null
  /** The same call with another deadline. */
  within(deadline: Deadline): Call
}

/** Creates a call. What depends on the caller is created once, when it is first needed. */
export const createCall = (service: Service, parts: CallParts): Call => new RequestCall(service, parts)

/** A class, so that a request does not create a function for each of these. */
class RequestCall implements Call {
  readonly service: Service
  readonly deadline: Deadline
  readonly store: Store
  readonly caller: KnownCaller | null
  readonly session: Session | undefined
  readonly shared: Shared | undefined
  #binding: Binding | undefined
  #judge: RuleJudge | undefined
  #accesses: Map<string, ReadAccess | null> | undefined

  constructor(service: Service, { deadline, store, caller, session, shared }: CallParts) {
    this.service = service
    this.deadline = deadline
    this.store = store
    this.caller = caller
    this.session = session
    this.shared = shared
  }

  get binding(): Binding {
    this.#binding ??= bindVariables(this.caller, this.service.clock)
    return this.#binding
  }

  get judge(): RuleJudge {
    this.#judge ??= this.service.createRuleJudge(this)
    return this.#judge
  }

  access({ name }: Pick<Collection, 'name'>): ReadAccess | null {
    this.#accesses ??= new Map()
    const known = this.#accesses.get(name)
    if (known !== undefined) return known
    const access = this.service.gates.get(name)?.(this) ?? null
    this.#accesses.set(name, access)
    return access
  }

  within(deadline: Deadline): Call {
    const other = new RequestCall(this.service, {
      ...this.#parts,
      deadline,
      store: this.store.within(deadline),
    })
    // The same request: its time and its accesses stay.
    other.#binding = this.binding
    this.#accesses ??= new Map()
    other.#accesses = this.#accesses
    return other
  }

  get #parts(): CallParts {
    const { deadline, store, caller, session, shared } = this
    return { deadline, store, caller, session, shared }
  }
}

/** Runs work in slices, until the deadline of a call. */
export const runWithin = <T>(
  { deadline }: Pick<Call, 'deadline'>,
  start: (slice: Slice) => Sliced<T>,
): MaybePromise<T> => runSliced(start, () => deadline.signal)
