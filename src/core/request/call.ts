import type { Session } from '../accounts/auth/sessions.js'
import { createClaimReader, type ReadClaim, ReadClaims } from '../claims/claims.js'
import { createFindAlong, type FindAlong } from '../claims/claims-along.js'
import type { AuthPlan, Collection, ServicePlan } from '../config/plan.js'
import type { Field } from '../fields/field-type.js'
import { CREATED_BY, USERS } from '../fields/schema/names.js'
import type { Hooks, Shared } from '../hooks/where-hooked.js'
import { type BoundCaller, bindVariables, type Clock, type KnownCaller } from '../permissions/caller.js'
import type { Rule } from '../permissions/grants.js'
import { createTextStore } from '../permissions/kept-texts.js'
import { namesOf } from '../permissions/read-access.js'
import {
  createReadGate,
  type GatedCollection,
  type ReadAccess,
  type ReadGate,
  selectDecidingRules,
  selectReadRules,
} from '../permissions/read-gate.js'
import type { Trace } from '../permissions/trace.js'
import { createRuleJudge, type RuleJudge } from '../permissions/write-rules.js'
import { type Following, targetOf } from '../query/compile-expand.js'
import { createQueryReader, type ReadQuery } from '../query/query-reader.js'
import type { ReadableNames } from '../query/reading.js'
import type { Binding } from '../query/variable.js'
import type { StoredDocument } from '../storage.js'
import type { Deliver, Hasher, Logger, Page } from '../types/host.js'
import type { Attachment } from './attachment.js'
import type { Deadline } from './deadline.js'
import { createKeptPages, type KeptPages } from './kept-pages.js'
import { createKeptSessions, type InSession, type KeptSessions } from './kept-sessions.js'
import type { Store } from './store.js'
import type { Throttle } from './throttle.js'

/** Runs work in the background, after the response. Only the shutdown of the service waits for it. */
export interface Background {
  /**
   * Begins a task after the current request is answered, with a deadline of its own. Errors are logged. If too many
   * tasks are running, the task is skipped, which is logged. Tasks with the same `line` run one after another; a task
   * is skipped silently if its line is full. Skipping does not depend on the work itself, so the load does not reveal
   * to a client whether there is anything to do.
   */
  begin(work: (by: BackgroundScope) => Promise<void>, line?: string): void
}

/** The store and the deadline of background work. */
export interface BackgroundScope {
  readonly store: Store
  readonly deadline: Deadline
}

/** State that all calls share: created once, never changed. */
export interface Service {
  readonly plan: ServicePlan
  /** The accounts that the service keeps; `null` if it keeps none. */
  readonly accounts: AuthPlan | null
  readonly hasher: Hasher
  /** Returns a hash that matches no secret but costs as much to verify as other hashes. */
  readonly decoy: () => Promise<string>
  readonly logger: Logger
  readonly throttle: Throttle
  readonly background: Background
  /** Accesses the storage directly, even if a call is part of a batch. */
  readonly beside: Store
  /** The host's function that delivers messages to the owners of accounts, if any. */
  readonly deliver: Deliver | undefined
  /** Milliseconds since 1970. */
  readonly now: () => number
  /** The current time in stored form. Throws outside the years 0001 to 9999. */
  readonly clock: Clock
  /** Creates an `_id`. */
  readonly createId: () => string
  /** The read gates by collection. */
  readonly gates: ReadonlyMap<string, ReadGate>
  readonly createRuleJudge: (asking: BoundCaller) => RuleJudge
  readonly pages: KeptPages
  /** Reads the query strings of requests. */
  readonly readQuery: ReadQuery
  readonly readClaim: ReadClaim
  readonly sessions: KeptSessions
  readonly along: FindAlong
  /** State that belongs to documents in addition to their fields, by collection. */
  readonly attachments: ReadonlyMap<string, Attachment>
  /** The stages of the writes of each collection. */
  readonly writes: CompiledWrites
  /** The hooks of the host; absent if there are none. */
  readonly hooks?: Hooks<Call>
  /** Records how requests are decided. Only set for explanations. */
  readonly trace?: Trace
  /** The admin UI that the host serves with the service, if any. */
  readonly page: Page | undefined
}

/**
 * The stages of each operation that writes, by collection. `core/documents/write/compile-write.ts` creates and reads
 * them; their whole type (`Moments`) uses calls, so it is not known here.
 */
export type CompiledWrites = ReadonlyMap<
  string,
  { readonly [operation in 'create' | 'patch' | 'put']: { readonly [moment: string]: readonly unknown[] } }
>

/** Compiles the rules of a service before the first call. */
export function compileRules(
  plan: ServicePlan,
  logger: Logger,
): Pick<Service, 'gates' | 'createRuleJudge' | 'readQuery' | 'readClaim' | 'sessions' | 'along' | 'pages'> {
  const { collections, limits } = plan
  let keys = 0
  const options = { keepTexts: createTextStore(), createKey: () => ++keys }
  return {
    gates: new Map(
      [...collections.values()].map((collection) => [collection.name, createReadGate(collection, options)]),
    ),
    readQuery: createQueryReader(limits),
    readClaim: createClaimReader(logger),
    sessions: createKeptSessions(),
    along: createFindAlong(plan),
    pages: createKeptPages(),
    createRuleJudge,
  }
}

/** The parts of a call. */
interface CallParts {
  readonly deadline: Deadline
  readonly store: Store
  readonly caller: KnownCaller | null
  /** The session of a caller who signed in with a token of the service. */
  readonly session: Session | undefined
  /** Claims that were already read with the session. */
  readonly claims?: InSession['claims'] | undefined
  /** Set for a call whose writes take effect together with those of other calls. */
  readonly shared?: Shared | undefined
  /** The time of the request in stored form. Default: the clock is read when the time is first needed. */
  readonly now?: string | undefined
  /** Whether the call is an operation of a batch. Such an operation cannot set secrets. */
  readonly isInBatch?: boolean | undefined
  /** Whether a body with a property that a rule would drop is rejected (CONTRACT.md §6, "Headers"). */
  readonly isStrict?: boolean | undefined
  /** The call to whose caller the writes and errors of this call are reported. Default: this call. */
  readonly reportTo?: Call | undefined
}

/** The read access that a caller has by rules without claims alone. */
export interface Unclaimed {
  readonly access: ReadAccess
  /**
   * Whether this access already shows everything that the caller may read of a document, so that claims cannot add
   * anything.
   */
  shows(document: StoredDocument): boolean
}

/** One request in the service: its caller, its deadline, and its access. */
export interface Call extends CallParts, BoundCaller, Following {
  readonly service: Service
  readonly judge: RuleJudge
  /** Returns the caller's read access to a collection; `null` if the caller may not read it. */
  access(collection: Pick<Collection, 'name'>): ReadAccess | null
  /** Returns the access by rules without claims if it may show as much of a document as all rules; otherwise `null`. */
  accessUnclaimed(collection: Pick<Collection, 'name'>): Unclaimed | null
  /**
   * Reads the claims that rules use, each claim once. Returns a promise if that is asynchronous. A claim cannot be used
   * before it was read.
   */
  learn(rules: readonly Rule[]): Promise<unknown> | undefined
  /** Reads the claims that decide what the caller may read of a collection; otherwise like `learn`. */
  learnToRead(collection: Pick<Collection, 'name'>): Promise<unknown> | undefined
  /** Returns the same call with another deadline. */
  within(deadline: Deadline): Call
  /** Returns the same call with the same time, but with no claims read yet. */
  renew(): Call
  /** Returns the same call, but its writes take effect together with those of other calls. */
  amid(store: Store, shared: Shared): Call
}

/** Creates a call. Its parts that depend on the caller are created when they are first needed. */
export const createCall = (service: Service, parts: CallParts): Call => new RequestCall(service, parts)

/** Selects the names of the fields that a caller may read in a collection; `null` if no rule applies to the caller. */
function selectNames(collection: GatedCollection, caller: KnownCaller | null): ReadableNames | null {
  const rules = selectReadRules(collection.permissions, caller)
  return rules.length > 0 ? namesOf(collection, rules) : null
}

/** A class, so that a request does not create a closure per method. */
class RequestCall implements Call {
  readonly service: Service
  readonly deadline: Deadline
  readonly store: Store
  readonly caller: KnownCaller | null
  readonly session: Session | undefined
  readonly shared: Shared | undefined
  readonly #now: string | undefined
  #claims: ReadClaims | undefined
  readonly isInBatch: boolean | undefined
  readonly isStrict: boolean | undefined
  readonly reportTo: Call | undefined
  readonly #read: CallParts['claims']
  #binding: Binding | undefined
  #judge: RuleJudge | undefined
  #accesses: Map<string, ReadAccess | null> | undefined

  constructor(
    service: Service,
    { deadline, store, caller, session, claims, shared, now, isInBatch, isStrict, reportTo }: CallParts,
  ) {
    this.service = service
    this.deadline = deadline
    this.store = store
    this.caller = caller
    this.session = session
    this.#read = claims
    this.shared = shared
    this.#now = now
    this.isInBatch = isInBatch
    this.isStrict = isStrict
    this.reportTo = reportTo
  }

  get binding(): Binding {
    this.#binding ??= this.#bind()
    return this.#binding
  }

  #bind(): Binding {
    const { plan, clock } = this.service
    const now = this.#now
    if (plan.claims.size > 0) this.#claims = new ReadClaims(plan.claims, this.#read)
    return bindVariables(this.caller, now === undefined ? clock : () => now, this.#claims)
  }

  learn(rules: readonly Rule[]): Promise<unknown> | undefined {
    const { service, store } = this
    if (service.plan.claims.size === 0) return undefined
    const { binding } = this
    const names = rules.flatMap(({ claims }) => claims)
    return this.#claims?.learn(names, (claim) => service.readClaim(claim, binding, store))
  }

  learnToRead({ name }: Pick<Collection, 'name'>): Promise<unknown> | undefined {
    const { collections, claims } = this.service.plan
    if (claims.size === 0) return undefined
    const permissions = collections.get(name)?.permissions
    return permissions && this.learn(selectDecidingRules(permissions, this.caller))
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

  accessUnclaimed({ name }: Pick<Collection, 'name'>): Unclaimed | null {
    const { plan, gates, trace } = this.service
    // Not in a batch, which requires that everything it reads stays unchanged, nor for an explanation, which must
    // name all rules.
    if (plan.claims.size === 0 || this.isInBatch || this.shared || trace) return null
    const [covering, access] = [gates.get(name)?.(this, 'covering'), gates.get(name)?.(this, 'free')]
    return covering && access ? { access, shows: covering.isReadable } : null
  }

  readable(name: string): ReadableNames | null {
    const collection = this.service.plan.collections.get(name)
    return collection ? selectNames(collection, this.caller) : null
  }

  targetOf(field: Field): string | undefined {
    const isAccount = this.service.accounts !== null && field.path === CREATED_BY
    return isAccount ? USERS : targetOf(field)
  }

  within(deadline: Deadline): Call {
    return this.#derive({ ...this.#parts, deadline, store: this.store.within(deadline) })
  }

  amid(store: Store, shared: Shared): Call {
    return this.#derive({ ...this.#parts, store, shared })
  }

  #derive(parts: CallParts): Call {
    const other = new RequestCall(this.service, parts)
    // It is still the same request, so it keeps its time and its accesses.
    other.#binding = this.binding
    other.#claims = this.#claims
    this.#accesses ??= new Map()
    other.#accesses = this.#accesses
    return other
  }

  renew(): Call {
    if (this.service.plan.claims.size === 0) return this
    return new RequestCall(this.service, { ...this.#parts, now: this.binding.now })
  }

  get #parts(): CallParts {
    const { deadline, store, caller, session, shared, isInBatch, isStrict, reportTo } = this
    return { deadline, store, caller, session, shared, isInBatch, isStrict, reportTo }
  }
}
