import type { Collection } from '../../config/plan.js'
import type { AnyHooks } from '../../hooks.js'
import { isObject } from '../../json/own-properties.js'
import type { BoundCaller } from '../../permissions/caller.js'
import type { Rule } from '../../permissions/grants.js'
import type { ReadGate } from '../../permissions/read-gate.js'
import type { Attempted, Permitted, RuleOutcome, Trace } from '../../permissions/trace.js'
import type { Service } from '../../service/call.js'
import type { StoredDocument } from '../../storage.js'
import type { JsonObject } from '../../types.js'

/** A condition that was asked of a document, and for whom. */
interface RecordedCondition {
  readonly asking: BoundCaller
  readonly holds: boolean
}

/** A document that was looked at, and whether it may be read. */
export interface RecordedLook extends RecordedCondition {
  readonly document: StoredDocument
}

/** The `where` of a rule for writing, on a stored document. */
export interface Fit extends RecordedCondition {
  readonly rule: Rule
  readonly document: StoredDocument
}

/** A body under one rule. */
export interface RecordedAttempt extends Attempted {
  /** Absent for a rule that was not needed any more. */
  outcome?: RuleOutcome
  /** The document as it would be stored, where the rule's `check` was asked. */
  checked?: RecordedCondition & { readonly document: JsonObject }
}

/** A body, and the rules that it was tried under, in this order. */
export interface RecordedBody {
  readonly asking: BoundCaller
  readonly body: JsonObject
  readonly attempts: readonly RecordedAttempt[]
}

/** All that was asked for one operation. */
export interface RecordedOperation extends Omit<Permitted, 'collection'> {
  readonly collection: Collection
  readonly asking: BoundCaller
  readonly looks: RecordedLook[]
  readonly fits: Fit[]
  readonly bodies: RecordedBody[]
}

/** What a service said while it judged one request. */
export interface Recorder {
  readonly operations: readonly RecordedOperation[]
  /** The same service, which says what it does. */
  readonly record: (service: Service) => Service
  /** The same hooks: of what one of them reads, nothing is recorded. */
  readonly unheard: (hooks: AnyHooks) => JsonObject
}

/** Creates the recorder of one request. It hears the gates, the judges of rules and the choice among them. */
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

/** The operations so far, and whether nothing is recorded at the moment. */
interface RecorderState {
  readonly operations: RecordedOperation[]
  isDeaf: boolean
}

/** A hook that is not heard; one that is wrong stays as it is. */
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

/** A gate whose accesses note the documents that are looked at. */
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
