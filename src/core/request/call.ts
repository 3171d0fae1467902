import type { Session } from '../accounts/auth/sessions.js'
import type { Throttle } from '../accounts/throttle.js'
import { createClaimReader, ReadClaims } from '../claims/claims.js'
import { createFindAlong } from '../claims/claims-along.js'
import type { AuthPlan, Collection, ServicePlan } from '../config/plan.js'
import type { Field } from '../fields/field-type.js'
import { CREATED_BY, USERS } from '../fields/schema/names.js'
import type { Hooks, Shared } from '../hooks/where-hooked.js'
import { type BoundCaller, bindVariables, type Clock, type KnownCaller } from '../permissions/caller.js'
import { type CompiledPermissions, listRules, type Rule } from '../permissions/grants.js'
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
import { targetOf } from '../query/compile-expand.js'
import { createQueryReader, type LinkedQuery } from '../query/query-reader.js'
import { NO_PARAMETERS, type ParameterName, parseQueryString, type RawQuery } from '../query/query-string.js'
import type { Following, ReadableNames } from '../query/reading.js'
import type { Binding } from '../query/variable.js'
import type { StoredDocument } from '../storage.js'
import type { Deliver, Hasher, Logger, Page } from '../types/host.js'
import type { JsonObject, MaybePromise } from '../types.js'
import type { Deadline } from './deadline.js'
import { createKeptPages } from './kept-pages.js'
import { createKeptSessions, type InSession } from './kept-sessions.js'
import type { Store } from './store.js'

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
export interface Service extends CompiledRules {
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
  /** The stages of the writes of each collection. */
  readonly writes: CompiledWrites
  /** The hooks of the host; absent if there are none. */
  readonly hooks?: Hooks<Call>
  /** Records how requests are decided. Only set for explanations. */
  readonly trace?: Trace
  /** Whether every caller has full rights (CONTRACT.md §7, "Full rights"). Default false. */
  readonly hasFullRights?: boolean
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
export function compileRules(plan: ServicePlan, logger: Logger) {
  const collections = [...plan.collections.values()]
  let keys = 0
  const options = { keepTexts: createTextStore(), createKey: () => ++keys }
  const gates: ReadonlyMap<string, ReadGate> = new Map(
    collections.map((collection) => [collection.name, createReadGate(collection, options)]),
  )
  const readByClaims: ReadonlySet<string> = new Set(collections.filter(usesClaims).map(({ name }) => name))
  return {
    /** The read gates by collection. */
    gates,
    /** The names of the collections with a read rule that uses claims. */
    readByClaims,
    /** Reads the query strings of requests. */
    readQuery: createQueryReader(plan.limits),
    readClaim: createClaimReader(logger, plan.claims),
    sessions: createKeptSessions(),
    along: createFindAlong(plan),
    pages: createKeptPages(),
    createRuleJudge,
  } as const
}

type CompiledRules = Readonly<ReturnType<typeof compileRules>>

const usesClaims = ({ permissions }: Collection): boolean =>
  listRules(permissions.read).some(({ claims }) => claims.length > 0)

/** The request of a client, as its endpoint reads it. */
export interface CallRequest {
  /** The part of the URL's path before the service's own paths. */
  readonly prefix: string
  /** The query string as it was sent, without the question mark. */
  readonly query: string
  /** The query parameters that the endpoint accepts. */
  readonly parameters: readonly ParameterName[]
  /** Returns a header by its name in lower case. */
  header(name: string): string | undefined
  /** Returns the client's address; `undefined` if it is unknown. */
  client(): string | undefined
  /** The cookie that identified the sender, if one did. */
  readonly cookie?: { readonly name: string } | undefined
  /** Identifies the sender again by the host's `authenticate`; absent if the host has set none. */
  readonly askHost?: (() => Promise<KnownCaller | null>) | undefined
  /**
   * Reads the body. Called after every other check of the request. Checks in this order: query 400 · media type 415 ·
   * size 413 · JSON 400 · the envelope, if the endpoint has one.
   */
  readBody(): MaybePromise<JsonObject>
}

/** The request of work that the service does by itself. */
const NO_REQUEST: CallRequest = {
  prefix: '',
  query: '',
  parameters: NO_PARAMETERS,
  header: () => undefined,
  client: () => undefined,
  readBody: () => ({}),
}

/** The parts of a call. */
interface CallParts {
  readonly deadline: Deadline
  readonly store: Store
  readonly caller: KnownCaller | null
  /** The request that the call answers. Default: none, for work of the service itself. */
  readonly request?: CallRequest | undefined
  /** The session of a caller who signed in with a token of the service. */
  readonly session: Session | undefined
  /** Claims that were already read with the session. */
  readonly claims?: InSession['claims'] | undefined
  /** Set for a call whose writes take effect together with those of other calls. */
  readonly shared?: Shared | undefined
  /** The time of the request in stored form. Default: the clock is read when the time is first needed. */
  readonly now?: string | undefined
  /**
   * Whether the call is an operation of a batch, or one that a hook adds. Such an operation cannot set secrets, and a
   * `match` is checked at the end of the batch.
   */
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

/**
 * One request in the service: its caller, its deadline, and its access. It is a class, so that a request does not create
 * a closure per method. Its parts that depend on the caller are created when they are first needed.
 */
export class Call implements CallParts, BoundCaller, Following {
  readonly service: Service
  readonly deadline: Deadline
  readonly store: Store
  readonly caller: KnownCaller | null
  readonly request: CallRequest
  readonly session: Session | undefined
  readonly shared: Shared | undefined
  readonly isInBatch: boolean | undefined
  readonly isStrict: boolean | undefined
  readonly reportTo: Call | undefined
  readonly #parts: CallParts
  #claims: ReadClaims | undefined
  #binding: Binding | undefined
  #judge: RuleJudge | undefined
  #accesses: Map<string, ReadAccess | null> | undefined

  constructor(service: Service, parts: CallParts) {
    this.service = service
    this.#parts = parts
    this.deadline = parts.deadline
    this.store = parts.store
    this.caller = parts.caller
    this.request = parts.request ?? NO_REQUEST
    this.session = parts.session
    this.shared = parts.shared
    this.isInBatch = parts.isInBatch
    this.isStrict = parts.isStrict
    this.reportTo = parts.reportTo
  }

  get binding(): Binding {
    this.#binding ??= this.#bind()
    return this.#binding
  }

  #bind(): Binding {
    const { plan, clock } = this.service
    const { now, claims } = this.#parts
    if (plan.claims.size > 0) this.#claims = new ReadClaims(plan.claims, claims)
    return bindVariables(this.caller, now === undefined ? clock : () => now, this.#claims)
  }

  /** Reads the claims that rules use, each claim once. A claim cannot be used before it was read. */
  learn(rules: readonly Pick<Rule, 'claims'>[]): MaybePromise<undefined> {
    const { service, store } = this
    if (service.plan.claims.size === 0) return undefined
    const { binding } = this
    const names = rules.flatMap(({ claims }) => claims)
    return this.#claims?.learn(names, {
      isSignedIn: this.caller !== null,
      read: (claim) => service.readClaim(claim, binding, store),
    })
  }

  /** Reads the claims that decide what the caller may read of a collection; otherwise like `learn`. */
  learnToRead({ name }: Pick<Collection, 'name'>): MaybePromise<undefined> {
    const { plan, readByClaims } = this.service
    const permissions = readByClaims.has(name) ? plan.collections.get(name)?.permissions : undefined
    return permissions && this.learn(this.selectEvaluated(permissions))
  }

  /** Returns the read rules whose claims are needed. An explanation evaluates the other rules, too. */
  selectEvaluated(permissions: CompiledPermissions): readonly Rule[] {
    const select = this.service.trace ? selectReadRules : selectDecidingRules
    return select(permissions, this.caller)
  }

  /**
   * Reads the query string of the request for a caller with this access. Throws `invalid_query`, also for a parameter
   * that the endpoint does not have.
   */
  readQuery(access: ReadAccess): LinkedQuery {
    const { query, parameters } = this.request
    return this.service.readQuery(query, parameters, access, this)
  }

  /** Parses the query string without compiling it. Throws `invalid_query`, as `readQuery` does. */
  readRaw(): RawQuery {
    const { query, parameters } = this.request
    return parseQueryString(query, parameters, this.service.plan.limits)
  }

  /** Throws `invalid_query` if the request has any query parameter. */
  refuseQuery(): void {
    parseQueryString(this.request.query, NO_PARAMETERS, this.service.plan.limits)
  }

  get judge(): RuleJudge {
    this.#judge ??= this.service.createRuleJudge(this)
    return this.#judge
  }

  /** Returns the caller's read access to a collection; `null` if the caller may not read it. */
  access({ name }: Pick<Collection, 'name'>): ReadAccess | null {
    this.#accesses ??= new Map()
    const known = this.#accesses.get(name)
    if (known !== undefined) return known
    const access = this.service.gates.get(name)?.(this) ?? null
    this.#accesses.set(name, access)
    return access
  }

  /** Returns the access by rules without claims if it may show as much of a document as all rules; otherwise `null`. */
  accessUnclaimed({ name }: Pick<Collection, 'name'>): Unclaimed | null {
    const { gates, trace } = this.service
    // Not in a batch, which requires that everything it reads stays unchanged, nor for an explanation, which must
    // name all rules.
    if (this.isInBatch || this.shared || trace) return null
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

  /** Returns the same call with another deadline. */
  within(deadline: Deadline): Call {
    return this.#derive({ deadline, store: this.store.within(deadline) })
  }

  /** Returns the same call, but its writes take effect together with those of other calls. */
  amid(store: Store, shared: Shared): Call {
    return this.#derive({ store, shared })
  }

  /** Returns the same call as the answer to another request. The operations of a batch use it. */
  answering(request: CallRequest): Call {
    const other = this.#derive({ request })
    // The operations of a batch share the compiled conditions of rules.
    other.#judge = this.judge
    return other
  }

  #derive(parts: Partial<CallParts>): Call {
    const other = new Call(this.service, { ...this.#parts, ...parts })
    // It is still the same request, so it keeps its time and its accesses.
    other.#binding = this.binding
    other.#claims = this.#claims
    this.#accesses ??= new Map()
    other.#accesses = this.#accesses
    return other
  }

  /** Returns the same call with the same time, but with no claims read yet. */
  renew(): Call {
    if (this.service.plan.claims.size === 0) return this
    return new Call(this.service, { ...this.#parts, claims: undefined, now: this.binding.now })
  }
}

/**
 * Runs work in the background after the response to a call, with the service's own rights. Tasks with the same `line`
 * run one after another (see `Background`).
 */
export const behind = ({ service }: Call, work: (own: Call) => Promise<void>, line?: string): void =>
  service.background.begin((by) => work(new Call(service, { ...by, caller: null, session: undefined })), line)

/** Returns the `line` of a background task. Tasks with the same reason and the same identifier share a line. */
export const lineOf = (reason: string, identifier: string): string => JSON.stringify([reason, identifier])

/** Selects the names of the fields that a caller may read in a collection; `null` if no rule applies to the caller. */
function selectNames(collection: GatedCollection, caller: KnownCaller | null): ReadableNames | null {
  const rules = selectReadRules(collection.permissions, caller)
  return rules.length > 0 ? namesOf(collection, rules) : null
}
