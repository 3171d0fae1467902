import { SYSTEM_FIELD_PLANS } from '../fields/compile-fields.js'
import { and, type Filter, nothing } from '../filter/filter.js'
import { isObject } from '../json/own-properties.js'
import { createBoundedMap } from '../kept/bounded-map.js'
import { CACHES } from '../kept/caches.js'
import type { ReadableNames } from '../query/reading.js'
import { type Binding, bindValue, NOW, USER_ID } from '../query/variable.js'
import { bindWhere, isAnywhere } from '../query/where.js'
import type { BoundCaller, KnownCaller } from './caller.js'
import {
  type CompiledPermissions,
  EVERYONE,
  includesProperty,
  OWNER,
  type PropertySet,
  type Rule,
  SIGNED_IN,
} from './grants.js'
import type { KeepTexts } from './kept-texts.js'
import {
  type AccessibleCollection,
  type BoundRule,
  compileAccess,
  namesOf,
  type ReadAccess,
} from './read-access.js'
import { createViews, keyOf, type ShownCollection } from './views.js'

/** The values of variables as text; variables without a value are left out. */
export const writeValues = (variables: readonly string[], binding: Binding): string =>
  `[${variables.map((variable) => writeVariable(variable, binding)).join()}]`

/** The value of a variable as text. An incomplete claim differs from a complete one with the same values. */
function writeVariable(variable: string, binding: Binding): string {
  const bound = bindValue(variable, binding)
  if (bound) return writeValue(bound.value ?? null)
  const some = bindValue(variable, binding, 'some')
  return some ? `${writeValue(some.value)}~` : 'null'
}

/** A value as text. An object is never compared: one of a host may have a `toJSON` that imitates another value. */
const writeValue = (value: unknown): string =>
  Array.isArray(value) ? `[${value.map(writeValue).join()}]` : isObject(value) ? '{}' : JSON.stringify(value)

/** Whether a set includes all that another one includes. */
export function covers(a: PropertySet, b: PropertySet): boolean {
  if (a.pick === null) return [...a.omit].every((name) => !includesProperty(b, name))
  return (
    b.pick !== null && [...b.pick].every((name) => !includesProperty(b, name) || includesProperty(a, name))
  )
}

const usesClaims = ({ claims }: Rule): boolean => claims.length > 0

/**
 * The read rules that decide. A rule without claims that holds for every document and shows as much makes a rule with
 * claims redundant: its claims need not be read.
 */
function selectDeciding(rules: readonly Rule[]): readonly Rule[] {
  if (!rules.some(usesClaims)) return rules
  const general = rules.filter(
    (rule) => !usesClaims(rule) && rule.subject !== OWNER && isAnywhere(rule.where),
  )
  return rules.filter(
    (rule) => !usesClaims(rule) || !general.some(({ properties }) => covers(properties, rule.properties)),
  )
}

/** The rules that decide about a document before claims are read. */
interface ClaimlessRules {
  /** The rules without claims. */
  readonly free: readonly Rule[]
  /**
   * Those rules without claims that show as much as each rule with claims: if one of these holds, claims add nothing.
   */
  readonly covering: readonly Rule[]
}

/** Divides the deciding rules; `covering` is empty if no rule uses claims. */
export function selectUndemanding(rules: readonly Rule[]): ClaimlessRules {
  const free = rules.filter((rule) => !usesClaims(rule))
  const demanding = rules.filter(usesClaims)
  const covering = free.filter((rule) =>
    demanding.every(({ properties }) => covers(rule.properties, properties)),
  )
  return { free, covering: demanding.length === 0 ? [] : covering }
}

export type { ReadAccess } from './read-access.js'

/** The parts of a collection that a gate needs. */
export interface GatedCollection extends AccessibleCollection, ShownCollection {
  readonly permissions: CompiledPermissions
}

/** Gives a caller's access, or `null` if no grant mentions the caller. Default: by all rules. */
export type ReadGate = (asking: BoundCaller, by?: keyof ClaimlessRules) => ReadAccess | null

/** The state that the gates of a service share. */
export interface GateOptions {
  readonly keepTexts: KeepTexts
  /** Gives each access another key. */
  readonly createKey: () => number
}

/** The rules of callers with the same subjects. */
interface CallerRules {
  /** The cache key of the rules. */
  readonly key: string
  readonly rules: readonly Rule[]
  readonly undemanding: ClaimlessRules
  /** The variables of the caller that the rules depend on. */
  readonly variables: readonly string[]
  /** Whether the rules also depend on the time. */
  readonly isTimed: boolean
}

/** The most cached sets of subjects: callers may have any combination of roles. */
const MAX_STANDINGS = 256

interface CachedAccess {
  readonly access: ReadAccess
  readonly size: number
}

/** The size of the cache of accesses, in UTF-16 units of their keys. */
const MAX_ACCESSES = 512 * 1024
/** The overhead of an access, in the same unit. */
const OVERHEAD = 1024

/**
 * Resolves the right to read (CONTRACT.md §5): grants add up. Accesses are cached, for several requests of one caller
 * and for callers with the same rights; the texts of documents are cached by the fields that they show.
 */
export function createReadGate(collection: GatedCollection, options: GateOptions): ReadGate {
  const rules = [...collection.permissions.read.values()].filter((rule) => rule !== null)
  const findView = createViews(collection, rules, options.keepTexts)
  const compile = (
    { rules: mine }: CallerRules,
    asking: BoundCaller,
    writeStanding: () => string,
    key?: number,
  ): ReadAccess =>
    compileAccess(collection, {
      rules: mine.map((rule) => bindRule(rule, asking)),
      findView,
      key,
      writeStanding,
    })
  const standings = createBoundedMap<string, CallerRules>(CACHES.accesses, MAX_STANDINGS)
  const standingFor = (mine: readonly Rule[]): CallerRules => {
    const key = keyOf(rules, mine)
    const known = standings.get(key)
    if (known) return known
    const standing = createStanding(key, selectDeciding(mine))
    standings.set(key, standing)
    return standing
  }
  const standingOf = (caller: KnownCaller | null): CallerRules =>
    standingFor(rules.filter(({ subject }) => appliesTo(subject, caller)))
  const anonymous = standingOf(null)
  const accesses = createBoundedMap<string, CachedAccess>(CACHES.accesses, MAX_ACCESSES, ({ size }) => size)
  return (asking, by) => {
    const whole = asking.caller === null ? anonymous : standingOf(asking.caller)
    const standing = by === undefined ? whole : standingFor(whole.undemanding[by])
    if (standing.rules.length === 0) return null
    if (standing.isTimed) return compile(standing, asking, () => writeStanding(standing, asking.binding))
    const key = standing.variables.length === 0 ? standing.key : writeStanding(standing, asking.binding)
    const known = accesses.get(key)
    if (known) return known.access
    const access = compile(standing, asking, () => key, options.createKey())
    accesses.set(key, { access, size: OVERHEAD + key.length })
    return access
  }
}

function createStanding(key: string, rules: readonly Rule[]): CallerRules {
  const variables = rules.flatMap((rule) => [
    ...(rule.subject === OWNER ? [USER_ID] : []),
    ...(rule.where.kind === 'bound' ? rule.where.variables : []),
  ])
  const isTimed = variables.includes(NOW)
  return {
    key,
    rules,
    undemanding: selectUndemanding(rules),
    variables: [...new Set(variables)].filter((name) => name !== NOW),
    isTimed,
  }
}

/** The rules that let a caller read something. */
export const selectReadRules = ({ read }: CompiledPermissions, caller: KnownCaller | null): readonly Rule[] =>
  [...read.values()].filter((rule) => rule !== null).filter(({ subject }) => appliesTo(subject, caller))

/** The deciding rules among them: the claims of the others need not be read. */
export const selectDecidingRules = (
  permissions: CompiledPermissions,
  caller: KnownCaller | null,
): readonly Rule[] => selectDeciding(selectReadRules(permissions, caller))

/** The names that a caller may read of a collection; `null` for none. */
export function selectNames(collection: GatedCollection, caller: KnownCaller | null): ReadableNames | null {
  const rules = selectReadRules(collection.permissions, caller)
  return rules.length > 0 ? namesOf(collection, rules) : null
}

const writeStanding = ({ key, variables }: CallerRules, binding: Binding): string =>
  variables.length === 0 ? key : key + writeValues(variables, binding)

/** Whether a subject includes a caller; `owner` includes every signed-in caller, for their own documents. */
export function appliesTo(subject: string, caller: KnownCaller | null): boolean {
  if (subject === EVERYONE) return true
  if (caller === null) return false
  return subject === SIGNED_IN || subject === OWNER || caller.roles.includes(subject)
}

/** A rule's condition for a caller; under `owner` it holds only for documents that the caller created. */
function bindRuleWhere(rule: Rule, { caller, binding }: BoundCaller): Filter {
  const where = bindWhere(rule.where, binding)
  if (rule.subject !== OWNER) return where
  return createdBy && caller ? and([{ kind: 'eq', field: createdBy, value: caller.id }, where]) : nothing
}

const createdBy = SYSTEM_FIELD_PLANS.find(({ name }) => name === 'createdBy')?.ref

const bindRule = (rule: Rule, asking: BoundCaller): BoundRule => ({
  rule,
  where: bindRuleWhere(rule, asking),
})
