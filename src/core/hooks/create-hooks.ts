import type { ServicePlan } from '../config/plan.js'
import { type ConfigFault, type Fault, isServiceError, REFUSAL_STATUSES, ServiceError } from '../errors.js'
import { copyJson } from '../json/copy-json.js'
import { isObject } from '../json/own-properties.js'
import { reportTo } from '../json/report.js'
import { MAX_CASCADE } from '../references/unset-references.js'
import type { Call, Service } from '../request/call.js'
import { invalid, isBeside, isRefusal, markBeside } from '../request/refusals.js'
import type { JsonObject } from '../types.js'
import { applySet } from './apply-set.js'
import { createOwnRight, type InOwnRight } from './own-right.js'
import { runTogether } from './run-together.js'
import { showCaller, showChange, showSystem } from './show-change.js'
import type { HookApi, HookChange } from './types.js'
import type { Hooks, PlannedWrite, SettledWrite } from './where-hooked.js'

/** The result of a hook, parsed. */
interface ParsedHookResult {
  /** The properties to merge into the document. */
  readonly set: JsonObject | undefined
  /** The operations to run after the write; not validated yet. */
  readonly also: readonly unknown[]
}

const NO_WISH: ParsedHookResult = { set: undefined, also: [] }

/**
 * Whether a pointer is in `set`. There `undefined` is an error: the property would be dropped, and the value of the
 * client would stay.
 */
const isSet = (pointer: string): boolean => pointer.startsWith('/set/')

/** Copies the result of a hook. Throws unless it is `undefined` or an object of `set` and `also`. */
function readResult(result: unknown, isDelete: boolean): ParsedHookResult {
  if (result === undefined) return NO_WISH
  const faults: ConfigFault[] = []
  const copy = copyJson(result, reportTo(faults), isSet)
  const [fault] = faults
  if (fault) throw new TypeError(`the hook must return JSON: ${fault.path} ${fault.message}`)
  if (!isObject(copy)) throw new TypeError('the hook must return nothing, or an object with `set` and `also`')
  const { set, also = [], ...others } = copy
  const [unknown] = Object.keys(others)
  if (unknown !== undefined)
    throw new TypeError(
      `the hook returned an object with the property ${JSON.stringify(unknown)}; allowed: set, also`,
    )
  if (set !== undefined && !isObject(set)) throw new TypeError("the hook's `set` must be an object")
  if (set !== undefined && isDelete) throw new TypeError('the hook must not return `set` for a delete')
  if (!Array.isArray(also)) throw new TypeError("the hook's `also` must be an array of operations")
  return { set, also }
}

/** A function of the host that is called before a write. */
export type Before = (change: HookChange) => unknown

/** The functions of the HTTP layer that hooks use. */
export interface HookPort {
  /**
   * Creates the `api` of a hook: the service as the caller of the write sees it, after all earlier writes of the same
   * request, and in `system` with full rights. `reenter` is called after each response.
   */
  openApi(call: Call, reenter: () => void): HookApi
  /** Returns the validation errors that the operations would have in a batch. */
  judge(operations: readonly unknown[]): readonly Fault[]
  /**
   * Returns the readers of the documents before the write. The claims for their rights are read now if an operation
   * writes or has entity tags, because the write may change them.
   */
  openReaders(call: Call, operations: readonly JsonObject[]): Promise<Readers>
  /**
   * Runs an operation with the rights of `own`. Its entity tags are those that `api` sees, or, with `system`, those of
   * whole documents.
   */
  perform(own: Call, operation: JsonObject, api: Call): Promise<void>
}

/** The calls with the read rights before a write. They differ only for a write with full rights. */
interface Readers {
  /** The call to whose caller the added operations are reported. */
  readonly reportTo: Call
  /** The call that sees what `api` shows. */
  readonly api: Call
}

/** Creates the hooks of a service (CONTRACT.md §9, "Before a write"), by collection. */
export function createHooks(
  service: Service,
  before: ReadonlyMap<string, Before>,
  port: HookPort,
): Hooks<Call> {
  const inOwnRight = createOwnRight(service)
  const above = findAbove(service.plan, before)
  return {
    has: (collection) => before.has(collection),
    hasBelow: (collection) => above.has(collection),
    together: runTogether,
    ask(call, write) {
      const { name } = write.collection
      const hook = before.get(name)
      if (!hook) throw new Error(`there is no hook for ${name}`)
      return askHook(call, write, { name: `options.hooks.${name}.before`, before: hook, port, inOwnRight })
    },
  }
}

/** Finds the collections in which a delete can cascade to a collection with a hook, and the collections with hooks. */
function findAbove(
  { collections, referrers }: ServicePlan,
  hooked: ReadonlyMap<string, Before>,
): ReadonlySet<string> {
  const above = new Set(hooked.keys())
  for (let size = 0; size !== above.size; ) {
    size = above.size
    for (const name of collections.keys()) {
      const below = (referrers.get(name) ?? []).filter(({ onDelete }) => onDelete !== 'restrict')
      if (below.some(({ collection }) => above.has(collection))) above.add(name)
    }
  }
  return above
}

/** A hook and its dependencies. */
interface Hook {
  /** The name of the hook in errors. */
  readonly name: string
  readonly before: Before
  readonly port: HookPort
  readonly inOwnRight: InOwnRight
}

async function askHook(call: Call, write: PlannedWrite, hook: Hook): Promise<SettledWrite> {
  const returned = await runHook(call, write, hook)
  try {
    const { set, also } = readResult(returned, write.after === null)
    const most = call.service.plan.limits.added
    if (also.length > most)
      throw new TypeError(`the hook's \`also\` has more than ${most} operations, the value of limits.added`)
    const faults = hook.port.judge(also)
    if (faults.length > 0) throw new TypeError(`the hook's \`also\` is not valid: ${invalid(faults).message}`)
    // The validation has shown that these are objects.
    const operations = also as readonly JsonObject[]
    for (const given of [set, ...operations.map(({ body }) => body)])
      for (const name of isObject(given) ? Object.keys(given) : []) call.shared?.chosen.add(name)
    const readers = await hook.port.openReaders(call, operations)
    return {
      fields: await settle(call, write, set),
      behind: also.length > 0 ? () => performAll(call, operations, readers, hook) : undefined,
    }
  } catch (thrown) {
    throw isServiceError(thrown) ? thrown : new Error(`${hook.name} failed`, { cause: thrown })
  }
}

/**
 * Returns the fields of a write after `set` of its hook is applied. If a new document still lacks a field that the hook
 * should fill, this is an error of the hook.
 */
const settle = async (
  call: Call,
  { collection, before, after }: PlannedWrite,
  set: JsonObject | undefined,
): Promise<JsonObject> => {
  if (!after) return NO_FIELDS
  const isNew = before === null
  const isLacking = isNew && [...collection.fills].some((name) => !Object.hasOwn(after.fields, name))
  return set || isLacking ? applySet(call, { ...after, collection, isNew }, set ?? {}) : after.fields
}

const NO_FIELDS: JsonObject = {}

/** Runs a hook and waits for its result. Only errors of `refuse` reach the response. */
async function runHook(call: Call, write: PlannedWrite, { name, before, port }: Hook): Promise<unknown> {
  const { deadline, caller, service } = call
  const isSystem = service.hasFullRights === true
  let isOver = false
  const stopListening = deadline.onOver(() => {
    isOver = true
  })
  // When a read of the hook ends, the request waits for the hook again.
  const reenter = (): void => {
    if (!isOver) deadline.enter('hook')
  }
  deadline.enter('hook')
  try {
    const change = {
      ...showChange(write),
      caller: isSystem ? showSystem(caller) : showCaller(caller),
      isSystem,
      api: port.openApi(call, reenter),
      signal: deadline.signal,
    }
    // `operation` determines whether `before` and `after` exist, which the compiler does not know here.
    return await before(Object.freeze(change) as HookChange)
  } catch (thrown) {
    throw isHookRefusal(thrown) ? thrown : new Error(`${name} failed`, { cause: thrown })
  } finally {
    stopListening()
    deadline.enter('read')
  }
}

const isHookRefusal = (thrown: unknown): boolean =>
  isServiceError(thrown) &&
  thrown.code === 'refused' &&
  thrown.status !== undefined &&
  REFUSAL_STATUSES.includes(thrown.status)

/** The errors that stored data may cause. Any other rejection of an operation is an error of the hook. */
const CONFLICTS: readonly string[] = [
  'unique_violation',
  'reference_in_use',
  'cascade_too_large',
  'precondition_failed',
]

/**
 * Converts the error of an operation that a hook returned. A conflict is reported without the names of fields, because
 * the client has not sent them. `what` names the operation in the log.
 */
function blameHook(what: string, thrown: unknown): unknown {
  if (!isRefusal(thrown) || isBeside(thrown)) return thrown
  return markBeside(
    CONFLICTS.includes(thrown.code)
      ? new ServiceError(
          thrown.code,
          'Changes that the service makes together with this write conflict with stored data.',
        )
      : new Error(`${what} was rejected: ${thrown.message}`, { cause: thrown }),
  )
}

/** Runs the operations that a hook returned, after the write that it was called for. */
async function performAll(
  call: Call,
  also: readonly JsonObject[],
  { reportTo, api }: Readers,
  hook: Hook,
): Promise<void> {
  countAdded(call, also.length)
  for (const [i, operation] of also.entries()) {
    const blame = (thrown: unknown): unknown => blameHook(`${hook.name}: also/${i}`, thrown)
    try {
      await hook.port.perform(hook.inOwnRight(reportTo, blame), operation, api)
    } catch (thrown) {
      throw blame(thrown)
    }
  }
}

/**
 * Counts the operations that hooks add to a request, and throws if there are more than `MAX_CASCADE`. One hook alone
 * cannot add so many, because of `limits.added`.
 */
function countAdded({ shared }: Call, added: number): void {
  if (!shared) throw new Error('a hook can only add operations to a buffered write')
  shared.added += added
  if (shared.added <= MAX_CASCADE) return
  const code = shared.asked > 1 ? 'validation_failed' : 'cascade_too_large'
  throw new ServiceError(
    code,
    `Hooks would add more than ${MAX_CASCADE} operations to this request, which is not allowed.`,
  )
}
