import type { Collection } from '../../config/plan.js'
import type { Fault } from '../../errors.js'
import type { Field } from '../../fields/field-type.js'
import type { Reference } from '../../fields/schema/references.js'
import { MAX_FAULTS } from '../../fields/schema/validator.js'
import type { SettledWrite } from '../../hooks/where-hooked.js'
import { toPointerPart } from '../../json/pointer.js'
import type { Rule } from '../../permissions/grants.js'
import type { KeptProperties } from '../../permissions/write-rules.js'
import { findVariables } from '../../query/variable.js'
import type { Call } from '../../request/call.js'
import type { Agreement, Attempt, Deferred } from '../../request/store/attempt.js'
import type { Slices } from '../../slices.js'
import type { StoredDocument, WriteStep } from '../../storage.js'
import type { JsonObject, MaybePromise } from '../../types.js'
import type { FoundTarget } from './find-target.js'
import { createNaming, type IsNamed, type Seen } from './redact.js'
import { type HashChanges, NO_HASHES, type SystemFields } from './stored-document.js'

/** The operations that write a body. */
export type WriteOperation = 'create' | 'patch' | 'put'

/**
 * Finds a document that a caller may refer to, because it exists and the caller may read it. Returns the values that a
 * `match` compares; `undefined` if the reference is not allowed.
 */
export type Referable = (reference: Reference) => JsonObject | undefined

/** A write of one body, or of the bodies of a bulk create. */
export interface BodyWrite {
  readonly call: Call
  readonly collection: Collection
  readonly operation: WriteOperation
  /** The stages that this operation needs in this collection. */
  readonly stages: Moments
  readonly rules: readonly Rule[]
  /** The document that an update changes; `undefined` for a create. */
  readonly before: FoundTarget | undefined
  /** The properties that a registration requires. It accepts them regardless of its rule. */
  readonly required: readonly string[] | undefined
  /** The hashes of secrets in earlier attempts. */
  readonly hashed: Map<string, string> | undefined
  /** Finds the documents that the bodies may refer to. Set by the stage of references. */
  referable: Referable
}

/** A body, and the details of its write. */
export interface GivenBody {
  readonly body: JsonObject
  /** The system fields of the document as it would be stored. */
  readonly system: SystemFields
  /** Whether the client has chosen the `_id` of a new document, so that other documents may already refer to it. */
  readonly isNamed?: boolean
  /** The path of the body in the body of the request, if it is only a part of that. */
  readonly at?: string
}

/** A body that a rule does not accept. */
type Rejected =
  | {
      readonly kind: 'invalid'
      readonly faults: readonly Fault[]
      /** Further hidden validation errors; the last of `faults` represents them. Only to explain a decision. */
      readonly others: readonly Fault[]
    }
  | { readonly kind: 'refused' }
  /** The rule keeps nothing of a body that a rule which drops nothing has refused. */
  | { readonly kind: 'idle' }

/** The result of the stages under one rule. Without a verdict, the next stage continues. */
export type Verdict = { readonly kind: 'fits' } | Rejected

/** A document before and after a write. */
export interface Versions {
  readonly call: Call
  readonly collection: Collection
  /** `undefined` for a new document. */
  readonly before?: StoredDocument | undefined
  readonly after: StoredDocument
  /**
   * The properties that count as changed regardless of the stored value, with their new values; `undefined` for a
   * removed property. Default: none.
   */
  readonly renewed?: ReadonlyMap<string, unknown>
  /** The parts of the previous document that the caller knows. Default: none. */
  readonly seen?: Seen
  readonly isNamed?: boolean | undefined
  /** The path of the document in the body, if it is only a part of the body. */
  readonly at?: string | undefined
  /** The references that must be allowed only after all writes of a batch. Default: none. */
  readonly deferred?: readonly Reference[]
}

/** The conditions under which a document may be stored. */
export interface WriteConditions {
  /** The steps before the document is stored. */
  readonly steps: WriteStep[]
  readonly agreements: Agreement[]
  deferred?: readonly Deferred[]
}

/**
 * A part of a write. `compile-write.ts` selects the stages that an operation needs in a collection, and their order.
 * Each moment runs all stages in this order.
 */
export interface Stage {
  readonly name: string
  /** Reads what the evaluation needs, before the rules are tried. */
  readonly read?: (write: BodyWrite, bodies: readonly JsonObject[]) => MaybePromise<void>
  /** Evaluates a draft under its rule. The first verdict ends the evaluation; without any, the draft fits. */
  readonly judge?: (draft: Draft) => MaybePromise<Verdict | undefined>
  /** Completes a draft that its rule accepts, before the document is assembled. */
  readonly settle?: (draft: Draft) => MaybePromise<void>
  /** Adds the conditions under which the document may be stored. */
  readonly guard?: (versions: Versions, conditions: WriteConditions) => void
}

/** The functions of all stages of an operation, by moment. */
export type Moments = {
  readonly [moment in Exclude<keyof Stage, 'name'>]: readonly NonNullable<Stage[moment]>[]
}

/** Returns the stages of an operation in a collection. */
export function stagesOf(
  { service }: Call,
  { name }: Pick<Collection, 'name'>,
  operation: WriteOperation,
): Moments {
  const stages = service.writes.get(name)?.[operation]
  if (!stages) throw new Error(`the writes to ${name} are not compiled`)
  return stages as Moments
}

/** An update of the document as its caller may read it: hidden properties count as missing. */
export interface SeenUpdate {
  readonly before: JsonObject
  readonly after: JsonObject
  /** The hidden properties in the body that hold immutable values. */
  readonly closed: readonly Field[]
  /** The properties of the body and of `set`, without `closed`. */
  readonly open: JsonObject
}

const NO_PROPERTIES: JsonObject = {}
const UNCHANGED: SeenUpdate = { before: NO_PROPERTIES, after: NO_PROPERTIES, closed: [], open: NO_PROPERTIES }

/** A body under one rule: the value that the stages of a write work on, one after another. */
export class Draft implements Seen {
  readonly write: BodyWrite
  readonly call: Call
  readonly collection: Collection
  readonly slices: Slices
  readonly rule: Rule
  readonly body: JsonObject
  readonly system: SystemFields
  readonly isNamed: boolean | undefined
  readonly at: string | undefined
  /** The document that an update changes; `undefined` for a create. */
  readonly before: FoundTarget | undefined
  /** The properties of the body that the rule keeps. */
  kept: KeptProperties
  /** The values from the body and from `set` of the rule. */
  given: JsonObject = NO_PROPERTIES
  /** The fields as they would be stored. */
  fields: JsonObject = NO_PROPERTIES
  /** False for a PATCH if the rule keeps nothing of its body: then nothing is written. */
  writes = true
  /** Whether a rule that drops nothing of the body was refused before. */
  followsRefusal = false
  /** The update as the caller sees it. */
  seen: SeenUpdate = UNCHANGED
  /**
   * The new values of properties in the body that the caller may not read, computed as if no value were stored. They
   * count as changed regardless of the stored value. `undefined` for a removed property.
   */
  unseen: ReadonlyMap<string, unknown> = NOTHING
  /** The validation errors. */
  faults: readonly Fault[] = NO_FAULTS
  /** The references that are not allowed yet, and that are checked after all operations of the batch. */
  deferred: readonly Reference[] = NO_REFERENCES
  /** The names of the properties that the rule has dropped. */
  ignored: readonly string[] = []
  /** The secrets of an update in plain text, by field; `null` removes a secret. */
  secrets: ReadonlyMap<string, string | null> = NO_HASHES
  /** The hashes of the secrets, by field; `null` removes a hash. */
  hashes: HashChanges = NO_HASHES
  /** A new stamp (see `stored-document.ts`). */
  stamp: string | undefined
  /** Further steps, after the document is stored. */
  steps: readonly WriteStep[] = NO_STEPS
  after: Attempt<unknown>['after']
  behind: SettledWrite['behind']
  /**
   * The validation errors that the caller may not see. They are kept apart as they are found, so they do not displace
   * visible ones, and their number is not revealed (CONTRACT.md §5, "No leak").
   */
  #hidden: readonly Fault[] = NO_FAULTS
  /** The validation errors of deferred references. */
  #later: readonly Fault[] = NO_FAULTS
  /** Their place among the others: the number of errors that were found before. */
  #laterAt = 0
  /** Whether `set` of the rule copies a value of the caller that does not fit its field. */
  #isUnfit = false
  #isNamed: IsNamed | undefined

  constructor(write: BodyWrite, { body, system, isNamed, at }: GivenBody, slices: Slices, rule: Rule) {
    this.write = write
    this.call = write.call
    this.collection = write.collection
    this.before = write.before
    this.slices = slices
    this.rule = rule
    this.body = body
    this.system = system
    this.isNamed = isNamed
    this.at = at
    this.kept = { body, isWhole: true }
  }

  /** Whether the caller may read a property of the document that an update changes. */
  isShown(name: string): boolean {
    return this.before?.access.isShown(this.before.stored, name) ?? false
  }

  /** Returns whether a validation error may be shown to the caller, and records it if it is hidden. */
  tells(fault: Fault): boolean {
    // A value that `set` copies from the caller is not an error of the body.
    if (comesFromVariable(this.rule, fault)) {
      this.#isUnfit = true
      return false
    }
    this.#isNamed ??= createNaming(this.call, this.collection)
    if (this.#isNamed(fault)) return true
    if (this.#hidden.length < MAX_FAULTS) this.#hidden = [...this.#hidden, fault]
    return false
  }

  /**
   * Defers references that are not allowed, if the draft belongs to a batch: a later operation may create the document
   * or make it readable. Returns the others. A hook sees no such reference, so none is deferred in its collection; nor is
   * one that `set` copies from the caller, because it decides whether the rule accepts the body. If the draft is
   * rejected anyway, deferred references are errors too, as `describe` says.
   */
  defer(references: readonly Reference[], describe: (reference: Reference) => Fault): readonly Reference[] {
    if (references.length === 0 || !this.isDeferring) return references
    const isOfCaller = ({ path }: Reference): boolean => comesFromVariable(this.rule, { path })
    const later = references.filter((one) => !isOfCaller(one))
    if (this.deferred.length === 0) this.#laterAt = this.faults.length
    this.deferred = [...this.deferred, ...later]
    this.#later = [...this.#later, ...later.map(describe)]
    return references.filter(isOfCaller)
  }

  /** Whether conditions on other documents are checked after all operations of a batch. */
  get isDeferring(): boolean {
    return this.call.isInBatch === true && !this.call.service.hooks?.has(this.collection.name)
  }

  /** Adds validation errors after those that were found before. */
  addFaults(faults: readonly Fault[]): void {
    if (faults.length > 0) this.faults = [...this.faults, ...faults]
  }

  /**
   * Returns the rejection of a draft with validation errors; `undefined` if it has none, and no hidden ones. Keeps the
   * first error of each path. All hidden errors are represented by one error, the last.
   */
  rejectFaulty(): Rejected | undefined {
    // If only values of the caller do not fit, the rule does not accept the body.
    if (this.faults.length === 0 && this.#hidden.length === 0)
      return this.#isUnfit ? { kind: 'refused' } : undefined
    if (this.#later.length > 0) this.#addLater()
    const [hidden, ...others] = this.#hidden
    const faults = firstOfEach(this.faults)
    return hidden
      ? { kind: 'invalid', faults: [...faults.slice(0, MAX_FAULTS - 1), hidden], others }
      : { kind: 'invalid', faults: faults.slice(0, MAX_FAULTS), others }
  }

  /** Adds the errors of deferred references in their place, as without a batch. */
  #addLater(): void {
    const hidden = this.#hidden
    this.#hidden = NO_FAULTS
    const later = firstOfEach(this.#later).filter((fault) => this.tells(fault))
    this.#later = NO_FAULTS
    const [first, others] = [this.faults.slice(0, this.#laterAt), this.faults.slice(this.#laterAt)]
    this.faults = [...first, ...later, ...others]
    const all = this.before ? [...this.#hidden, ...hidden] : [...hidden, ...this.#hidden]
    this.#hidden = all.slice(0, MAX_FAULTS)
  }
}

/** Returns the first validation error of each path. */
export function firstOfEach(faults: readonly Fault[]): readonly Fault[] {
  const byPath = new Map<string, Fault>()
  for (const fault of faults) if (!byPath.has(fault.path)) byPath.set(fault.path, fault)
  return [...byPath.values()]
}

function comesFromVariable({ set }: Rule, { path }: Pick<Fault, 'path'>): boolean {
  for (const [name, value] of set) {
    const pointer = toPointerPart(name)
    const isIts = path === pointer || path.startsWith(`${pointer}/`)
    if (isIts && findVariables(value).length > 0) return true
  }
  return false
}

const NOTHING: ReadonlyMap<string, unknown> = new Map()
const NO_FAULTS: readonly Fault[] = []
const NO_REFERENCES: readonly Reference[] = []
const NO_STEPS: readonly WriteStep[] = []
