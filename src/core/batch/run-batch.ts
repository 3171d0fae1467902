import { SESSIONS } from '../accounts/auth/sessions.js'
import { resumeSession } from '../accounts/sessions.js'
import { bounds } from '../bounds.js'
import { isIdTaken } from '../documents/write/plan-write.js'
import { isServiceError, type ServiceError } from '../errors.js'
import { USERS } from '../fields/schema/names.js'
import { nothing } from '../filter/filter.js'
import type { Shared } from '../hooks/where-hooked.js'
import { whenReady } from '../promises.js'
import { createByteBudget } from '../request/byte-budget.js'
import { Call, type Service } from '../request/call.js'
import { createClock } from '../request/clock.js'
import { isRefusal, relocate } from '../request/refusals.js'
import type { Attempt } from '../request/store/attempt.js'
import { inSlices, type Sliced, stepsTaken, takeFirstSlice } from '../slices.js'
import type { WriteStep } from '../storage.js'
import type { MaybePromise } from '../types.js'
import { BatchStore, type Broken, type PlannedSteps } from './batch-store.js'
import { Conditions } from './conditions.js'
import { writeRights } from './rights.js'

/** One operation of a batch. */
export interface RunnableOperation {
  /** The collection that it writes to; `null` if it only reads. */
  readonly writesTo: string | null
  /** Runs it. Resolves to the JSON text of its response. */
  readonly run: (call: Call) => MaybePromise<string>
}

/** The steps of an operation that are not counted elsewhere: about 10 µs. */
const STEPS_AN_OPERATION = 200

/** The approximate bytes of documents that are evaluated, serialized and hashed in one step. */
const BYTES_A_STEP = 24

/**
 * Runs operations one after another, each on the state after the previous operations. Commits all of them, or none
 * (CONTRACT.md §2, "Batch"). Returns the responses. Throws the error of the first rejected operation, with its index.
 * Throws `overloaded` if concurrent writes keep changing the documents that were read.
 */
export function runBatch(
  call: Call,
  operations: readonly RunnableOperation[],
): MaybePromise<readonly string[]> {
  const now = call.service.now()
  const service: Service = { ...call.service, now: () => now, clock: createClock(() => now) }
  const run: BatchRun = { call, service, operations, isSuspect: false }
  return call.store.write(() =>
    inSlices(
      (slices) => judgeAll(run, slices),
      () => call.deadline.signal,
      takeFirstSlice(operations.length),
    ),
  )
}

/** A batch, in all attempts. */
interface BatchRun {
  readonly call: Call
  readonly service: Service
  readonly operations: readonly RunnableOperation[]
  /**
   * Whether the storage has rejected an attempt because of a condition that the whole batch does not meet. The next
   * attempt then reads which operation is at fault.
   */
  isSuspect: boolean
}

const judgeAll: Sliced<[run: BatchRun], Attempt<readonly string[]>> = async (run, slices) => {
  const { call, service, operations } = run
  const budget = createByteBudget(
    bounds.writtenBytes,
    'The reads, writes and responses of a batch must not exceed 16 MiB in total.',
  )
  const conditions = new Conditions(service.plan.claimed)
  const { collections } = service.plan
  const store = new BatchStore(call.store, budget, collections, conditions)
  const shared: Shared = { cascaded: 0, asked: operations.length, added: 0, chosen: new Set() }
  const telling = [SESSIONS, USERS, ...service.plan.claimed]
  const answers: string[] = []
  let own = call
  const findExposed = createExposure({ service, store, shared, telling }, () => {
    const unwritten = new BatchStore(call.store, budget, collections, conditions)
    return callNow(call, { service, store: unwritten, shared, telling })
  })
  for (const operation of operations) {
    const i = answers.length
    store.operation = i
    const before = stepsTaken()
    try {
      own = await callNow(own, { service, store, shared, telling })
      const broken = await findExposed(operation, own)
      if (broken) return planRefusal({ store, conditions }, call, refusalOf(broken))
      const answer = await operation.run(own)
      budget.take(answer)
      answers.push(answer)
    } catch (thrown) {
      if (!isRefusal(thrown)) throw thrown
      return planRefusal({ store, conditions }, call, at(i, thrown))
    }
    // The evaluation of a body has slices of its own, whose steps also use up a slice of the batch.
    slices.left -= STEPS_AN_OPERATION + store.takeWork() / BYTES_A_STEP + stepsTaken() - before
    if (slices.left <= 0) await slices.next()
  }
  if (run.isSuspect || store.pending.isDeferring) {
    const broken = await store.findBroken(0)
    if (broken) return planRefusal({ store, conditions }, call, refusalOf(broken))
  }
  return planBatch(run, { store, conditions }, await store.planSteps(), answers)
}

/** State that the operations of a batch share. */
interface InBatch {
  readonly service: Service
  readonly store: BatchStore
  readonly shared: Shared
  /** The collections that determine the caller and its claims. */
  readonly telling: readonly string[]
}

/** Whether the last operation may have changed the caller or its claims. */
const hasTold = ({ pending, operation }: BatchStore, telling: readonly string[]): boolean =>
  telling.some((name) => pending.lastIn(name) === operation - 1)

/** Whether an operation may call a hook. */
const asksHook = ({ hooks }: Service, { writesTo }: RunnableOperation): boolean =>
  writesTo !== null && hooks?.hasBelow(writesTo) === true

/** Returns the call for the next operation. Reads the caller again if earlier operations may have changed it. */
function callNow(last: Call, { service, store, shared, telling }: InBatch): MaybePromise<Call> {
  if (last.shared && !hasTold(store, telling)) return last
  const { deadline, session, caller, isStrict } = last
  const parts = { deadline, store, shared, isInBatch: true, isStrict }
  const { accounts } = service
  if (!session || !accounts) {
    return last.shared ? last.renew() : new Call(service, { ...parts, caller, session })
  }
  return whenReady(resumeSession(service, store, accounts, { id: session.id }), (present) => {
    if (last.shared && present.session.user === session.user) return last.renew()
    return new Call(service, { ...parts, ...present })
  })
}

/**
 * Creates the function that finds a condition of earlier operations that is not met although a hook may see it, or
 * the rights of the next operation may rest on it: the caller then has other rights than before the batch. `readFirst`
 * returns the call before the batch. What it reads must be unchanged, too.
 */
function createExposure(
  { service, store, telling }: InBatch,
  readFirst: () => MaybePromise<Call>,
): (operation: RunnableOperation, own: Call) => Promise<Broken | undefined> {
  /** All operations before this one meet their conditions. */
  let agreed = 0
  let first: Promise<string> | undefined
  const readRights = async (): Promise<string> => writeRights(await readFirst())
  return async (operation, own) => {
    const isHooked = asksHook(service, operation)
    if (store.operation === 0 || !(isHooked || hasTold(store, telling))) return undefined
    const broken = await store.findBroken(agreed)
    if (!broken) {
      agreed = store.operation
      return undefined
    }
    if (isHooked) return broken
    first ??= readRights()
    return (await first) !== (await writeRights(own)) ? broken : undefined
  }
}

/** Converts the error of an operation to the error of its batch. */
const at = (operation: number, refusal: ServiceError): ServiceError =>
  relocate(refusal, `/operations/${operation}/body`, operation)

/** The pending writes of a batch, and the conditions under which they may take effect. */
interface PendingBatch {
  readonly store: BatchStore
  readonly conditions: Conditions
}

/** Plans the write of a batch whose operations were all accepted. */
function planBatch(
  run: BatchRun,
  { store, conditions }: PendingBatch,
  planned: PlannedSteps,
  answers: readonly string[],
): Attempt<readonly string[]> {
  const { agreements } = store.pending
  const first = conditions.steps(store.pending)
  const { steps } = planned
  const own = [...first, ...steps]
  return {
    steps: [...own, ...agreements.flatMap(({ step }) => step ?? [])],
    done: answers,
    isTrial: steps.length === 0,
    after: store.pending.after,
    async refuse(failure) {
      const broken = agreements[failure.step - own.length]
      // The documents of the condition are required as they were read, so a retry would fail in the same way.
      if (broken?.refuse) throw blame(broken.operation, broken.refuse())
      const isConflict = failure.reason === 'unique' && !isIdTaken(failure.fields ?? [])
      if (failure.step < first.length || !(isConflict || failure.reason === 'found')) return
      // An index that no plan declares may still be unique. Then nothing was found to be at fault.
      if (run.isSuspect) await store.refuse(planned, { ...failure, step: failure.step - first.length }, blame)
      run.isSuspect = true
    },
  }
}

/**
 * Plans the rejection of a batch. The rejection is valid only if everything that was read is unchanged, which only the
 * storage knows. So these conditions are tried, followed by a step that always fails. If nothing was read, the rejection
 * does not depend on the storage.
 */
function planRefusal(
  { store, conditions }: PendingBatch,
  { service }: Call,
  refusal: ServiceError,
): Attempt<readonly string[]> {
  if (conditions.isEmpty) throw refusal
  const steps = conditions.steps(store.pending)
  const [collection = ''] = service.plan.collections.keys()
  const last: WriteStep = { in: collection, remove: nothing, expect: 1 }
  return {
    steps: [...steps, last],
    done: [],
    isTrial: true,
    refuse(failure) {
      if (failure.step === steps.length) throw refusal
    },
  }
}

/** Returns the error of a condition that the pending state does not meet. */
function refusalOf({ operation, thrown }: Broken): ServiceError {
  const blamed = blame(operation, thrown)
  if (!isServiceError(blamed)) throw blamed
  return blamed
}

const blame = (operation: number, thrown: unknown): unknown =>
  isRefusal(thrown) ? at(operation, thrown) : thrown
