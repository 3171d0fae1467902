import type { Collection } from '../../../core/config/plan.js'
import type { AnyHooks } from '../../../core/hooks/types.js'
import { isObject } from '../../../core/json/own-properties.js'
import type { BoundCaller } from '../../../core/permissions/caller.js'
import type { Rule } from '../../../core/permissions/grants.js'
import type { ReadGate } from '../../../core/permissions/read-gate.js'
import type { Attempted, Permitted, RuleOutcome, Trace } from '../../../core/permissions/trace.js'
import type { Service } from '../../../core/request/call.js'
import type { StoredDocument } from '../../../core/storage.js'
import type { JsonObject } from '../../../core/types.js'

/** A condition that was evaluated, and its caller. */
interface RecordedCondition {
  readonly asking: BoundCaller
  readonly holds: boolean
}

/** A document that was read, and whether the caller may read it (`holds`). */
export interface RecordedLook extends RecordedCondition {
  readonly document: StoredDocument
}

/** The `where` of a rule for writing, evaluated on a stored document. */
export interface Fit extends RecordedCondition {
  readonly rule: Rule
  readonly document: StoredDocument
}

/** The attempt to apply one rule to a body. */
export interface RecordedAttempt extends Attempted {
  /** Absent if the rule was not tried, because an earlier rule had run. */
  outcome?: RuleOutcome
  /** The document as it would be stored. Absent if the rule's `check` was not evaluated. */
  checked?: RecordedCondition & { readonly document: JsonObject }
}

/** A body, and the rules that were tried for it, in their order. */
export interface RecordedBody {
  readonly asking: BoundCaller
  readonly body: JsonObject
  readonly attempts: readonly RecordedAttempt[]
}

/** Everything that was evaluated for one operation. */
export interface RecordedOperation extends Omit<Permitted, 'collection'> {
  readonly collection: Collection
  readonly asking: BoundCaller
  readonly looks: RecordedLook[]
  readonly fits: Fit[]
  readonly bodies: RecordedBody[]
}

/** Records the decisions of a service about one request. */
export interface Recorder {
  readonly operations: readonly RecordedOperation[]
  /** Returns the same service, but records its decisions. */
  readonly record: (service: Service) => Service
  /** Returns the same hooks, but does not record the documents that they read. */
  readonly unheard: (hooks: AnyHooks) => JsonObject
}

/** Creates the recorder of one request. It wraps the read gates, the rule judges and the choice of rules. */
export function createRecorder(): Recorder {
  const operations: RecordedOperation[] = []
  const hearing: RecorderState = { operations, isDeaf: false }
  return {
    operations,
    record: (service) => recordService(service, hearing),
    unheard: (hooks) =>
      Object.fromEntries(
        Object.entries(hooks).map(([name, hook]) => [name, isObject(hook) ? hearNot(hook, hearing) : hook]),
      ),
  }
}

/** The operations that were recorded so far, and whether recording is paused. */
interface RecorderState {
  readonly operations: RecordedOperation[]
  isDeaf: boolean
}

/** Returns a hook whose reads are not recorded. An invalid hook is returned unchanged. */
function hearNot(hook: JsonObject, hearing: RecorderState): JsonObject {
  const { before } = hook
  if (typeof before !== 'function') return hook
  return {
    ...hook,
    async before(change: unknown) {
      hearing.isDeaf = true
      try {
        return await before.call(hook, change)
      } finally {
        hearing.isDeaf = false
      }
    },
  }
}

function recordService(service: Service, hearing: RecorderState): Service {
  const { collections } = service.plan
  const { operations } = hearing
  const current = (): RecordedOperation | undefined => (hearing.isDeaf ? undefined : operations.at(-1))
  let attempts: readonly RecordedAttempt[] = []
  const attemptAt = (rule: Rule): RecordedAttempt | undefined => attempts.find((one) => one.rule === rule)
  const trace: Trace = {
    permits(asking, { operation, collection: name, rules }) {
      const collection = collections.get(name)
      if (collection && !hearing.isDeaf)
        operations.push({ operation, collection, rules, asking, looks: [], fits: [], bodies: [] })
    },
    tries(asking, body, attempted) {
      if (hearing.isDeaf) return
      attempts = attempted.map(({ rule, kept }) => ({ rule, kept }))
      current()?.bodies.push({ asking, body, attempts })
    },
    tried({ rule }, outcome) {
      const attempt = attemptAt(rule)
      if (attempt) attempt.outcome = outcome
    },
  }
  return {
    ...service,
    trace,
    gates: new Map([...service.gates].map(([name, gate]) => [name, listen(name, gate, current)])),
    createRuleJudge(asking) {
      const judge = service.createRuleJudge(asking)
      return {
        appliesTo(rule, document) {
          const holds = judge.appliesTo(rule, document)
          current()?.fits.push({ asking, rule, document, holds })
          return holds
        },
        admits(rule, document) {
          const holds = judge.admits(rule, document)
          const attempt = attemptAt(rule)
          if (attempt) attempt.checked = { asking, document, holds }
          return holds
        },
      }
    },
  }
}

/** Wraps a gate, and records the documents that the gate reads. */
const listen =
  (name: string, gate: ReadGate, current: () => RecordedOperation | undefined): ReadGate =>
  (asking) => {
    const access = gate(asking)
    if (!access) return null
    const isReadable = (document: StoredDocument): boolean => {
      const holds = access.isReadable(document)
      const operation = current()
      if (operation?.collection.name === name) operation.looks.push({ asking, document, holds })
      return holds
    }
    return Object.create(access, { isReadable: { value: isReadable } })
  }
