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
import {
  createReadGate,
  type ReadAccess,
  type ReadGate,
  selectDecidingRules,
  selectNames,
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

/** Runs work in the background, after the response; only the shutdown of the service waits for it. */
export interface Background {
  /**
   * Begins a task once the present request is answered, with a deadline of its own. Errors are logged. If too many
   * tasks are running, the task is skipped, which is logged. Tasks of one `line` run one after another; a task is
   * skipped silently if some already wait in its line. Load and free capacity must not reveal what there is to do.
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
  /** The accounts that the service keeps; `null` for none. */
  readonly accounts: AuthPlan | null
  readonly hasher: Hasher
  /** A hash that matches no secret, at the same cost as the others. */
  readonly decoy: () => Promise<string>
  readonly logger: Logger
  readonly throttle: Throttle
  readonly background: Background
  /** The storage, also outside of the batch that a call is a part of. */
  readonly beside: Store
  /** The host's function that delivers messages to the owners of accounts, if any. */
  readonly deliver: Deliver | undefined
  /** Milliseconds since 1970. */
  readonly now: () => number
  /** The same in stored form. Throws outside the years 0001 to 9999. */
  readonly clock: Clock
  /** Creates an `_id`. */
  readonly createId: () => string
  /** By collection. */
  readonly gates: ReadonlyMap<string, ReadGate>
  readonly createRuleJudge: (asking: BoundCaller) => RuleJudge
  readonly pages: KeptPages
  /** Reads the query strings of requests. */
  readonly readQuery: ReadQuery
  readonly readClaim: ReadClaim
  readonly sessions: KeptSessions
  readonly along: FindAlong
  /** Further state of the documents, by collection. */
  readonly attachments: ReadonlyMap<string, Attachment>
  /** The hooks of the host; absent if there are none. */
  readonly hooks?: Hooks<Call>
  /** Notified of how requests are decided; absent except for explanations. */
  readonly trace?: Trace
  /** The admin UI that the host serves with it, if any. */
  readonly page: Page | undefined
}

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
  /** The session of a caller who signed in by a token of the service. */
  readonly session: Session | undefined
  /** Claims that were already read with the session. */
  readonly claims?: InSession['claims'] | undefined
  /** Set for a call whose writes take effect with others. */
  readonly shared?: Shared | undefined
  /** The time of the request in stored form. Default: read when it is first needed. */
  readonly now?: string | undefined
  /** Whether it is an operation of a batch, which cannot set secrets. */
  readonly isInBatch?: boolean | undefined
  /** Whether a body is rejected if a rule would drop one of its properties (CONTRACT.md §6, "Headers"). */
  readonly isStrict?: boolean | undefined
  /** The call whose caller learns of this call's writes and errors. Default: this one. */
  readonly reportTo?: Call | undefined
}

/** The read rights of a caller by rules without claims. */
export interface Unclaimed {
  readonly access: ReadAccess
  /** Whether it shows everything that the caller may read of a document, whichever claims the caller has. */
  shows(document: StoredDocument): boolean
}

/** One request in the service: its caller, its deadline, and its access. */
export interface Call extends CallParts, BoundCaller, Following {
  readonly service: Service
  readonly judge: RuleJudge
  /** The read access of the caller to a collection; `null` for none. */
  access(collection: Pick<Collection, 'name'>): ReadAccess | null
  /** The access by the rules without claims, if these may show as much as all rules; `null` if they never do. */
  accessUnclaimed(collection: Pick<Collection, 'name'>): Unclaimed | null
  /**
   * Reads the claims of rules, each once; returns a promise if that is asynchronous. A claim that was not read cannot
   * be used.
   */
  learn(rules: readonly Rule[]): Promise<unknown> | undefined
  /** The same for what the caller may read of a collection. */
  learnToRead(collection: Pick<Collection, 'name'>): Promise<unknown> | undefined
  /** The same call with another deadline. */
  within(deadline: Deadline): Call
  /** The same call, at the same time, without any claims read. */
  renew(): Call
  /** The same call, whose writes take effect with others. */
  amid(store: Store, shared: Shared): Call
}

/** Creates a call. Parts that depend on the caller are created once, when first needed. */
export const createCall = (service: Service, parts: CallParts): Call => new RequestCall(service, parts)

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
    // A batch requires that everything it reads is unchanged; an explanation names all rules.
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
    // The same request: its time and its accesses stay.
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
