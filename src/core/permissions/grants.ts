import type { Where } from '../query/where.js'

/** An operation that a rule can allow. */
export type RuleOperation = 'create' | 'read' | 'update' | 'delete'

export const OPERATIONS: readonly RuleOperation[] = ['create', 'read', 'update', 'delete']

/** The subject of all callers. This subject and the next two are not roles: a role of the same name has no effect. */
export const EVERYONE = '*'
/** The subject of callers who are signed in. */
export const SIGNED_IN = 'user'
/** The subject of callers for the documents that they created. */
export const OWNER = 'owner'

/** Whether a subject is a role. */
export const isRole = (subject: string): boolean =>
  subject !== EVERYONE && subject !== SIGNED_IN && subject !== OWNER

/**
 * The top-level properties that a rule covers: the picked ones without the omitted ones. If `pick` is `null`, all
 * properties are picked.
 */
export interface PropertySet {
  readonly pick: ReadonlySet<string> | null
  readonly omit: ReadonlySet<string>
}

export const ALL_PROPERTIES: PropertySet = { pick: null, omit: new Set() }

/** Whether a set includes a property. */
export const includesProperty = ({ pick, omit }: PropertySet, name: string): boolean =>
  (pick === null || pick.has(name)) && !omit.has(name)

/** The right of a subject to one operation, and the documents that it covers. */
export interface Rule {
  readonly subject: string
  /**
   * The JSON pointer of the rule within the grant of its subject: `/update`, or `/update/0` in an array. Empty if the
   * rule comes from the grant as a whole.
   */
  readonly place: string
  readonly properties: PropertySet
  /** A condition on the stored document. */
  readonly where: Where
  /** A condition on the document as it would be stored. */
  readonly check: Where
  /** Values that replace those of the body. Variables in them stand for values of the caller. */
  readonly set: ReadonlyMap<string, unknown>
  /** Whether the rule accepts the field that holds the role. */
  readonly acceptsRole: boolean
  /** The names of the claims in `where`, `check` and `set`. */
  readonly claims: readonly string[]
}

/**
 * The rules of the subjects that mention an operation, in the order of the configuration. A subject that may not use the
 * operation has none.
 */
export type Mentions = ReadonlyMap<string, readonly Rule[]>

export type CompiledPermissions = { readonly [operation in RuleOperation]: Mentions }

/** Returns the rules of one subject; none if it does not mention the operation. */
export const rulesOf = (mentions: Mentions, subject: string): readonly Rule[] =>
  mentions.get(subject) ?? NO_RULES

const NO_RULES: readonly Rule[] = []

/** Returns the rules of all subjects. */
export const listRules = (mentions: Mentions): readonly Rule[] => [...mentions.values()].flat()
