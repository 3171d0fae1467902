import type { Where } from '../query/where.js'

/** An operation that a rule can allow. */
export type RuleOperation = 'create' | 'read' | 'update' | 'delete'

/** All operations. */
export const OPERATIONS: readonly RuleOperation[] = ['create', 'read', 'update', 'delete']

/** The subject of all callers. This and the next two are not roles: a role with such a name is ignored. */
export const EVERYONE = '*'
/** The subject of callers who are signed in. */
export const SIGNED_IN = 'user'
/** The subject of the caller who created a document. */
export const OWNER = 'owner'

/** Whether a subject is a role. */
export const isRole = (subject: string): boolean =>
  subject !== EVERYONE && subject !== SIGNED_IN && subject !== OWNER

/** The top-level properties that a rule covers: the picked ones (`null`: all), without the omitted ones. */
export interface PropertySet {
  readonly pick: ReadonlySet<string> | null
  readonly omit: ReadonlySet<string>
}

/** The set of all properties. */
export const ALL_PROPERTIES: PropertySet = { pick: null, omit: new Set() }

/** Whether a set includes a property. */
export const includesProperty = ({ pick, omit }: PropertySet, name: string): boolean =>
  (pick === null || pick.has(name)) && !omit.has(name)

/** The right of a subject to one operation, and the documents that it covers. */
export interface Rule {
  readonly subject: string
  readonly properties: PropertySet
  /** Must hold for the stored document. */
  readonly where: Where
  /** Must hold for the document as it would be stored. */
  readonly check: Where
  /** Values that replace those of the body; variables in them stand for the caller's own values. */
  readonly set: ReadonlyMap<string, unknown>
  /** Whether the rule accepts the field that holds the role. */
  readonly acceptsRole: boolean
  /** The names of the claims in `where`, `check` and `set`. */
  readonly claims: readonly string[]
}

/** For each operation, the subjects that mention it, in the configured order; `null` if they deny it. */
export type CompiledPermissions = {
  readonly [operation in RuleOperation]: ReadonlyMap<string, Rule | null>
}
