import type { Where } from '../query/where.js'

export type Operation = 'create' | 'read' | 'update' | 'delete'

export const OPERATIONS: readonly Operation[] = ['create', 'read', 'update', 'delete']

/** Subjects that are no roles; a role of such a name counts for nothing. */
export const EVERYONE = '*'
export const SIGNED_IN = 'user'
export const OWNER = 'owner'

export const isRole = (subject: string): boolean =>
  subject !== EVERYONE && subject !== SIGNED_IN && subject !== OWNER

/** Which top-level properties a rule speaks of: those picked (`null`: all), less those omitted. */
export interface PropertySet {
  readonly pick: ReadonlySet<string> | null
  readonly omit: ReadonlySet<string>
}

export const ALL_PROPERTIES: PropertySet = { pick: null, omit: new Set() }

export const includesProperty = ({ pick, omit }: PropertySet, name: string): boolean =>
  (pick === null || pick.has(name)) && !omit.has(name)

/** What a subject may do in one operation, and on which documents. */
export interface Rule {
  readonly subject: string
  readonly properties: PropertySet
  /** On the stored document. */
  readonly where: Where
  /** On the document as it would be stored. */
  readonly check: Where
  /** Values put in over the body; variables in them stand for the caller's own. */
  readonly set: ReadonlyMap<string, unknown>
  /** Whether the rule accepts the field that holds the role. */
  readonly acceptsRole: boolean
}

/** For each operation, the subjects that mention it, in the configuration's order; `null` where they refuse it. */
export type CompiledPermissions = {
  readonly [operation in Operation]: ReadonlyMap<string, Rule | null>
}
