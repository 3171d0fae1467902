import type { Collection, ServicePlan } from '../config/plan.js'
import { compileWrites } from '../documents/write/compile-write.js'
import {
  ALL_PROPERTIES,
  type CompiledPermissions,
  EVERYONE,
  type Mentions,
  type Rule,
} from '../permissions/grants.js'
import { whenReady } from '../promises.js'
import { ANYWHERE } from '../query/where.js'
import { Call, compileRules, type Service } from '../request/call.js'
import type { Attempt } from '../request/store/attempt.js'
import { refuseTaken, type Store } from '../request/store.js'

/** The rule for operations with the rights of the service itself: it allows everything. */
export const EVERYTHING: Rule = {
  subject: EVERYONE,
  place: '',
  properties: ALL_PROPERTIES,
  where: ANYWHERE,
  check: ANYWHERE,
  set: new Map(),
  acceptsRole: true,
  claims: [],
}

const grants: Mentions = new Map([[EVERYONE, [EVERYTHING]]])
/** No required field may be missing, because no hook runs for these writes and fills it. */
const NOTHING: ReadonlySet<string> = new Set()
const permissions: CompiledPermissions = { create: grants, read: grants, update: grants, delete: grants }

/**
 * Creates a call with the rights of the service itself, within the request and with the caller of `reportTo`, which
 * receives the errors.
 */
export type InOwnRight = (reportTo: Call, blame: BlameHook) => Call

/** Converts an error of an operation that runs with the rights of the service itself. */
export type BlameHook = (thrown: unknown) => unknown

/**
 * Creates an `InOwnRight`. No permission restricts its calls, and no hook runs for them. Schemas, references, unique
 * fields and limits still apply.
 */
export function createOwnRight(service: Service): InOwnRight {
  const collections = new Map(
    Array.from(service.plan.collections, ([name, collection]): [string, Collection] => [
      name,
      { ...collection, permissions, fills: NOTHING },
    ]),
  )
  const plan: ServicePlan = { ...service.plan, collections }
  const { hooks, trace, ...unhooked } = service
  const right: Service = {
    ...unhooked,
    plan,
    ...compileRules(plan, service.logger),
    writes: compileWrites({ plan, accounts: service.accounts }),
  }
  return (reportTo, blame) => {
    const { service, deadline, store, caller, shared, binding } = reportTo
    const { now, clock } = service
    return new Call(
      { ...right, now, clock },
      {
        deadline,
        caller,
        session: undefined,
        shared,
        isInBatch: true,
        now: binding.now,
        reportTo,
        store: createBlamingStore(store, blame),
      },
    )
  }
}

/** Creates a store that converts the errors of its writes. */
function createBlamingStore(store: Store, blame: BlameHook): Store {
  const blaming = <T>(planned: Attempt<T>): Attempt<T> => ({
    ...planned,
    agreements: (planned.agreements ?? []).map(({ refuse, ...agreement }) => ({
      ...agreement,
      ...(refuse ? { refuse: () => blame(refuse()) } : {}),
    })),
    refuse: async (failure) => {
      try {
        await (planned.refuse ?? refuseTaken)(failure)
      } catch (thrown) {
        throw blame(thrown)
      }
    },
  })
  const own: Store = {
    read: (...asked) => store.read(...asked),
    own: (collection) => store.own(collection),
    state: (collections) => store.state(collections),
    linked: (asked) => store.linked(asked),
    together: (lists) => store.together(lists),
    write: (attempt) => store.write(() => whenReady(attempt(), blaming)),
    within: () => own,
    by: () => own,
  }
  return own
}
