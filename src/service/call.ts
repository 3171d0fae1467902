import type { Session } from '../auth/sessions.js'
import type { Throttle } from '../auth/throttle.js'
import type { AuthPlan, Collection, ServicePlan } from '../config/plan.js'
import { type Asking, bindVariables, type Clock, type KnownCaller } from '../permissions/caller.js'
import { createRuleJudges, type RuleJudge } from '../permissions/judge-rule.js'
import { createTextStore } from '../permissions/kept-texts.js'
import { createReadGate, type ReadAccess, type ReadGate } from '../permissions/read-gate.js'
import type { Binding } from '../query/variable.js'
import { runSliced, type Slice, type Sliced } from '../slices.js'
import type { Hasher, Logger, MaybePromise } from '../types.js'
import type { Attachment } from './attachment.js'
import type { Deadline } from './deadline.js'
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
  /** What else belongs to the documents, by collection. */
  readonly attachments: ReadonlyMap<string, Attachment>
}

/** Compiles what a service needs of its rules before the first call. */
export function compileRules(collections: Iterable<Collection>): Pick<Service, 'gates' | 'createRuleJudge'> {
  const keepTexts = createTextStore()
  return {
    gates: new Map(
      [...collections].map((collection) => [collection.name, createReadGate(collection, keepTexts)]),
    ),
    createRuleJudge: createRuleJudges(),
  }
}

/** The parts of a call. */
interface CallParts {
  readonly deadline: Deadline
  readonly store: Store
  readonly caller: KnownCaller | null
  /** The session of a caller who signed in by a token of the service. */
  readonly session: Session | undefined
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
export function createCall(service: Service, { deadline, store, caller, session }: CallParts): Call {
  let binding: Binding | undefined
  const asking: Asking = {
    caller,
    get binding() {
      binding ??= bindVariables(caller, service.clock)
      return binding
    },
  }
  const accesses = new Map<string, ReadAccess | null>()
  let judge: RuleJudge | undefined
  const call: Call = {
    service,
    deadline,
    store,
    caller,
    session,
    get binding() {
      return asking.binding
    },
    get judge() {
      judge ??= service.createRuleJudge(asking)
      return judge
    },
    access({ name }) {
      let access = accesses.get(name)
      if (access === undefined) {
        access = service.gates.get(name)?.(asking) ?? null
        accesses.set(name, access)
      }
      return access
    },
    within: (other) => ({ ...call, deadline: other, store: store.within(other) }),
  }
  return call
}

/** Runs work in slices, until the deadline of a call. */
export const runWithin = <T>(
  { deadline }: Pick<Call, 'deadline'>,
  start: (slice: Slice) => Sliced<T>,
): MaybePromise<T> => runSliced(start, () => deadline.signal)
