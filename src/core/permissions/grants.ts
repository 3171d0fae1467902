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
 * For each operation, the rules of the subjects that the configuration mentions, in its order; `null` for a subject
 * that may not use the operation.
 */
export type CompiledPermissions = {
  readonly [operation in RuleOperation]: ReadonlyMap<string, Rule | null>
}
