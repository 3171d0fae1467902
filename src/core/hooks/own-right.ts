import { withFullRights } from '../documents/write/full-rights.js'
import { whenReady } from '../promises.js'
import { Call, type Service } from '../request/call.js'
import type { Attempt } from '../request/store/attempt.js'
import { refuseTaken, type Store } from '../request/store.js'

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
export function createOwnRight({ hooks: _, ...service }: Service): InOwnRight {
  // No required field may be missing, because no hook runs for these writes and fills it.
  const right = withFullRights(service, { fills: new Set() })
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
