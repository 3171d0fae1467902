import { SYSTEM_FIELD_PLANS } from '../fields/compile-fields.js'
import { and, type Filter, nothing } from '../filter/filter.js'
import { isObject } from '../json/own-properties.js'
import { createBoundedMap } from '../kept/bounded-map.js'
import { CACHES } from '../kept/caches.js'
import { type Binding, bindValue, NOW, USER_ID } from '../query/variable.js'
import { bindWhere, isAnywhere } from '../query/where.js'
import type { BoundCaller, KnownCaller } from './caller.js'
import {
  type CompiledPermissions,
  EVERYONE,
  includesProperty,
  listRules,
  OWNER,
  type PropertySet,
  type Rule,
  SIGNED_IN,
} from './grants.js'
import type { KeepTexts } from './kept-texts.js'
import { type AccessibleCollection, compileAccess, type ReadAccess } from './read-access.js'
import { createViews, keyOf, type ShownCollection } from './views.js'

/** Writes the values of variables as text. A variable without a value is written as `null`. */
export const writeValues = (variables: readonly string[], binding: Binding): string =>
  `[${variables.map((variable) => writeVariable(variable, binding)).join()}]`

/** Writes the value of a variable as text. An incomplete claim and a complete claim never have the same text. */
function writeVariable(variable: string, binding: Binding): string {
  const bound = bindValue(variable, binding)
  if (bound) return writeValue(bound.value ?? null)
  const some = bindValue(variable, binding, 'some')
  return some ? `${writeValue(some.value)}~` : 'null'
}

/**
 * Writes a value as text. Rules never compare objects, so all objects have the same text; a `toJSON` of a host cannot
 * make one look like another value.
 */
const writeValue = (value: unknown): string =>
  Array.isArray(value) ? `[${value.map(writeValue).join()}]` : isObject(value) ? '{}' : JSON.stringify(value)

/** Whether set `a` includes every property that set `b` includes. */
export function covers(a: PropertySet, b: PropertySet): boolean {
  if (a.pick === null) return [...a.omit].every((name) => !includesProperty(b, name))
  return (
    b.pick !== null && [...b.pick].every((name) => !includesProperty(b, name) || includesProperty(a, name))
  )
}

const usesClaims = ({ claims }: Rule): boolean => claims.length > 0

/**
 * Selects the read rules that need to be evaluated. A rule with claims is redundant if a rule without claims applies to
 * every document and shows at least the same properties: then the claims need not be read.
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

/** The rules that can be evaluated before any claims are read. */
interface ClaimlessRules {
  /** The rules without claims. */
  readonly free: readonly Rule[]
  /**
   * Those rules without claims that show at least as much as every rule with claims. If one of them applies to a
   * document, claims cannot show more of it.
   */
  readonly covering: readonly Rule[]
}

/** Selects the rules without claims. `covering` is empty if no rule uses claims. */
export function selectUndemanding(rules: readonly Rule[]): ClaimlessRules {
  const free = rules.filter((rule) => !usesClaims(rule))
  const demanding = rules.filter(usesClaims)
  const covering = free.filter((rule) =>
    demanding.every(({ properties }) => covers(rule.properties, properties)),
  )
  return { free, covering: demanding.length === 0 ? [] : covering }
}

export type { ReadAccess } from './read-access.js'

/** The parts of a collection that a read gate needs. */
export interface GatedCollection extends AccessibleCollection, ShownCollection {
  readonly permissions: CompiledPermissions
}

/**
 * Returns the access of a caller, or `null` if no rule applies to the caller. `by` selects some of the rules without
 * claims. Default: all rules.
 */
export type ReadGate = (asking: BoundCaller, by?: keyof ClaimlessRules) => ReadAccess | null

/** The state that all read gates of a service share. */
export interface GateOptions {
  readonly keepTexts: KeepTexts
  /** Returns a new key for each access. */
  readonly createKey: () => number
}

/** The rules that apply to all callers with the same subjects. */
interface CallerRules {
  /** Identifies these rules among those of the collection. */
  readonly key: string
  readonly rules: readonly Rule[]
  readonly undemanding: ClaimlessRules
  /** The variables in these rules, except `$now`. */
  readonly variables: readonly string[]
  /** Whether these rules contain `$now`. */
  readonly isTimed: boolean
}

/** The maximum number of sets of rules that are cached: callers may have any combination of roles. */
const MAX_STANDINGS = 256

/** The size of the cache of accesses, in UTF-16 units. */
const MAX_ACCESSES = 512 * 1024
/** The size of an access without its key, in UTF-16 units. */
const OVERHEAD = 1024

/**
 * Creates the read gate of a collection (CONTRACT.md §5): a caller may read everything that any rule allows. Accesses
 * are cached, because a caller sends several requests and many callers have the same rights. The texts of documents are
 * cached by the fields that they show.
 */
export function createReadGate(collection: GatedCollection, options: GateOptions): ReadGate {
  const rules = listRules(collection.permissions.read)
  const findView = createViews(collection, rules, options.keepTexts)
  const compile = (
    { rules: mine }: CallerRules,
    asking: BoundCaller,
    writeStanding: () => string,
    key?: number,
  ): ReadAccess =>
    compileAccess(collection, {
      rules: mine.map((rule) => ({ rule, where: bindRuleWhere(rule, asking) })),
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
  const accesses = createBoundedMap<string, ReadAccess>(CACHES.accesses, MAX_ACCESSES)
  return (asking, by) => {
    const whole = asking.caller === null ? anonymous : standingOf(asking.caller)
    const standing = by === undefined ? whole : standingFor(whole.undemanding[by])
    if (standing.rules.length === 0) return null
    if (standing.isTimed) return compile(standing, asking, () => writeStanding(standing, asking.binding))
    const key = standing.variables.length === 0 ? standing.key : writeStanding(standing, asking.binding)
    const known = accesses.get(key)
    if (known) return known
    const access = compile(standing, asking, () => key, options.createKey())
    accesses.set(key, access, OVERHEAD + key.length)
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

/** Selects the read rules that apply to a caller. */
export const selectReadRules = ({ read }: CompiledPermissions, caller: KnownCaller | null): readonly Rule[] =>
  listRules(read).filter(({ subject }) => appliesTo(subject, caller))

/** Selects those read rules of a caller that need to be evaluated. The claims of all others need not be read. */
export const selectDecidingRules = (
  permissions: CompiledPermissions,
  caller: KnownCaller | null,
): readonly Rule[] => selectDeciding(selectReadRules(permissions, caller))

const writeStanding = ({ key, variables }: CallerRules, binding: Binding): string =>
  variables.length === 0 ? key : key + writeValues(variables, binding)

/** Whether a subject includes a caller. `owner` includes every signed-in caller: any can have created documents. */
export function appliesTo(subject: string, caller: KnownCaller | null): boolean {
  if (subject === EVERYONE) return true
  if (caller === null) return false
  return subject === SIGNED_IN || subject === OWNER || caller.roles.includes(subject)
}

/** Binds the condition of a rule to a caller. A rule of `owner` applies only to documents that the caller created. */
function bindRuleWhere(rule: Rule, { caller, binding }: BoundCaller): Filter {
  const where = bindWhere(rule.where, binding)
  if (rule.subject !== OWNER) return where
  return createdBy && caller ? and([{ kind: 'eq', field: createdBy, value: caller.id }, where]) : nothing
}

const createdBy = SYSTEM_FIELD_PLANS.find(({ name }) => name === 'createdBy')?.ref
