import { grantPointer, isPlain } from '../../../../core/config/compile-permissions.js'
import type { Collection } from '../../../../core/config/plan.js'
import { ConfigError } from '../../../../core/errors.js'
import { isFreeName, isSystemField } from '../../../../core/fields/schema/names.js'
import { compilePath, isObject, readOwn } from '../../../../core/json/own-properties.js'
import { toPointerPart, toPointerParts } from '../../../../core/json/pointer.js'
import {
  EVERYONE,
  isRole,
  OPERATIONS,
  OWNER,
  type Rule,
  type RuleOperation,
  rulesOf,
  SIGNED_IN,
} from '../../../../core/permissions/grants.js'
import { selectReadRules } from '../../../../core/permissions/read-gate.js'
import type { JsonObject, RuleConfig, WhereConfig } from '../../../../core/types.js'
import { put } from '../../diff/model/conditions.js'
import type { InsightOptions } from '../../options.js'
import { findRule, grantsOf, placeOfCheck, restrictionsOf } from '../../written-rules.js'
import type { Suggestion } from '../explanation.js'
import { findMissing, type Missing } from '../find-missing.js'
import { type ExplainedOperation, placesOf } from '../places.js'
import type { RecordedAttempt, RecordedBody } from '../recorder.js'
import { type ExplainedRun, runRequest } from '../run-request.js'

/** A changed rule that is closer to letting a request succeed. */
interface Repaired {
  readonly rule: RuleConfig
  /** The additional names that the rule accepts. */
  readonly names: readonly string[]
  /** The number of added conditions. */
  readonly conditions: number
}

/** A rule as written, and compiled. */
interface Broken {
  readonly operation: RuleOperation
  readonly rule: RuleConfig
  readonly compiled: Rule
}

/** Returns changed forms of a rule that rejected an operation or dropped a property, each with one addition. */
function repairRule({ operation: recorded, id }: ExplainedOperation, broken: Broken): readonly Repaired[] {
  const { operation, rule, compiled } = broken
  const { collection } = recorded
  if (operation === 'read') {
    const look = recorded.looks.find(({ document }) => document._id === id)
    return look && !look.holds ? widen(rule, 'where', rule.where, look.document) : []
  }
  const fit = recorded.fits.findLast((one) => one.rule === compiled && !one.holds)
  const ofBodies = recorded.bodies.flatMap((body): readonly Repaired[] => {
    if (isWhole(collection, body)) return []
    const attempt = body.attempts.find((one) => one.rule === compiled)
    const names = attempt ? droppedBy(collection, body, attempt) : []
    const checked = attempt?.checked
    const check = placeOfCheck({ rule, pointer: '' }, operation)?.check
    return [
      ...(names.length > 0 ? [{ rule: acceptNames(collection, rule, names), names, conditions: 0 }] : []),
      ...(checked && !checked.holds ? widen(rule, 'check', check, checked.document) : []),
    ]
  })
  return [...(fit ? widen(rule, 'where', rule.where, fit.document) : []), ...ofBodies]
}

/** Returns the fields that a condition names, in order, each once. */
function fieldsIn(where: WhereConfig): readonly string[] {
  const names = Object.entries(where).flatMap(([name, asked]): readonly string[] =>
    (name === '$or' || name === '$and') && Array.isArray(asked) ? asked.flatMap(fieldsIn) : [name],
  )
  return [...new Set(names)]
}

/** Whether a rule could accept a name. Other names are always dropped, or are validation errors. */
const isKeepable = ({ fields, verifiedField, ...free }: Collection, name: string): boolean =>
  !isSystemField(name) &&
  name !== verifiedField &&
  (fields.some((field) => field.name === name) || isFreeName(free, name))

/** Returns rules with a wider condition: one of its fields may also have the value that the document has. */
const widen = (
  rule: RuleConfig,
  name: 'where' | 'check',
  condition: WhereConfig = {},
  document: JsonObject,
): readonly Repaired[] =>
  fieldsIn(condition).map((field) => {
    const equality = { [field]: scalarOf(compilePath(field)(document)) }
    return { rule: { ...rule, [name]: either(condition, equality) }, names: [], conditions: 1 }
  })

/** Returns a value for an equality: the first element of an array, and `null` for a missing value. */
function scalarOf(value: unknown): unknown {
  const one = Array.isArray(value) ? value[0] : value
  return one === undefined || typeof one === 'object' ? null : one
}

function either(condition: WhereConfig, other: WhereConfig): WhereConfig {
  const { $or, ...rest } = condition
  return Array.isArray($or) && Object.keys(rest).length === 0
    ? { $or: [...$or, other] }
    : { $or: [condition, other] }
}

/** Returns the names that a rule dropped from a body although a rule could accept them. */
const droppedBy = (
  collection: Collection,
  { body }: RecordedBody,
  attempt: RecordedAttempt,
): readonly string[] =>
  attempt.kept.isWhole
    ? []
    : Object.keys(body).filter(
        (name) =>
          !Object.hasOwn(attempt.kept.body, name) &&
          !attempt.rule.set.has(name) &&
          isKeepable(collection, name),
      )

/** Whether a rule accepted a body and dropped no property that a rule could accept. */
function isWhole(collection: Collection, body: RecordedBody): boolean {
  const ran = body.attempts.find(({ outcome }) => outcome?.kind === 'fits')
  return ran !== undefined && droppedBy(collection, body, ran).length === 0
}

/** Returns the same rule with more accepted names. */
function acceptNames(
  { fields, roleField }: Collection,
  rule: RuleConfig,
  names: readonly string[],
): RuleConfig {
  const { pick, omit, ...others } = rule
  const left = omit?.filter((name) => !names.includes(name))
  const needsPick = pick !== undefined || names.some((name) => name === roleField)
  const known = pick ?? fields.map(({ name }) => name).filter((name) => !left?.includes(name))
  return {
    ...(needsPick ? { pick: [...new Set([...known, ...names])] } : {}),
    ...(left && left.length > 0 ? { omit: left } : {}),
    ...others,
  }
}

/** Returns the rule that decided: the first rule that was tried, or would have been tried; `null` if there is none. */
function findDecisive(
  config: unknown,
  { operation: recorded }: ExplainedOperation,
  operation: RuleOperation,
): RuleConfig | null {
  const { collection, asking, rules } = recorded
  const failed = recorded.bodies.find((body) => !isWhole(collection, body))
  const decisive =
    operation === 'read' && recorded.operation !== 'read'
      ? selectReadRules(collection.permissions, asking.caller)[0]
      : (failed?.attempts[0]?.rule ?? rules[0])
  return decisive ? (findRule(config, collection.name, decisive, operation)?.rule ?? null) : null
}

/** The rule of a subject without a rule. It accepts no property of a body yet. */
const FRESH: { readonly [operation in RuleOperation]: RuleConfig } = {
  create: { pick: [] },
  read: {},
  update: { pick: [] },
  delete: {},
}

/** A new rule, and its place in the grant of its subject. */
interface PlacedRule extends Pick<Rule, 'place'> {
  readonly rule: RuleConfig
}

/** The new rules of one subject, by operation. Each replaces the rule at its place. */
type Rules = { readonly [operation in RuleOperation]?: PlacedRule }

/** Returns the patch that gives a subject these rules and keeps the subject's other rules. */
function patchOf(config: unknown, collection: string, subject: string, rules: Rules): Suggestion['patch'] {
  const grants = grantsOf(config, collection)
  const own = expand(readOwn(grants, subject), subject)
  const grant = { ...own, ...place(rules, own) }
  const hasGrants = Object.keys(grants).length > 0
  return [
    hasGrants
      ? { op: 'add', path: grantPointer(collection, subject), value: grant }
      : {
          op: 'add',
          path: `/collections${toPointerPart(collection)}/permissions`,
          value: { [subject]: grant },
        },
  ]
}

/** Converts a grant to the form that has a rule for each operation. */
function expand(grant: unknown, subject: string): JsonObject {
  if (typeof grant === 'boolean') {
    const operations = OPERATIONS.filter((operation) => subject !== OWNER || operation !== 'create')
    return Object.fromEntries(operations.map((operation) => [operation, grant]))
  }
  if (!isObject(grant)) return {}
  if (!isPlain(grant)) return grant
  const { pick: _, omit: __, ...others } = grant as JsonObject
  return { ...others, read: true, create: restrictionsOf(grant) }
}

/** Returns the rules of a grant with new ones at their places. A rule without restrictions becomes `true`. */
const place = (rules: Rules, grant: JsonObject): Suggestion['rules'] =>
  Object.fromEntries(
    Object.entries(rules).map(([operation, { rule, place }]) => {
      const own = grant[operation]
      const at = toPointerParts(place)[1]
      if (Array.isArray(own) && at !== undefined) return [operation, own.with(Number(at), rule)]
      return [operation, Object.keys(rule).length > 0 ? rule : true]
    }),
  )

/** Applies the patch of a suggestion to a copy of a configuration. */
const applyPatch = (config: unknown, [{ path, value }]: Suggestion['patch']): unknown =>
  put(config, toPointerParts(path), value)

/** Compares two configurations, as `comparePermissions` does. */
export type CompareConfigs = (before: unknown, after: unknown, options: InsightOptions) => Suggestion['diff']

/** A grant to one subject that may let the request succeed. */
interface Candidate {
  readonly rules: Rules
  readonly names: readonly string[]
  readonly conditions: number
}

/** The maximum number of conditions that a candidate adds. More would make a rule hard to read. */
const MOST_CONDITIONS = 4
/** The maximum number of candidates that are tried for one subject. */
const MOST_CANDIDATES = 200

/** The rejected request, and the right that was missing. */
export interface Refused {
  readonly run: ExplainedRun
  readonly missing: Missing
  readonly options: InsightOptions
  readonly compare: CompareConfigs
}

/**
 * Finds the first grant that would have let a request succeed (CONTRACT.md §8, "Explain"). Grants are ordered by
 * subject, then by the number of added names, then by the number of added conditions. Each grant is tested: the request
 * is sent again, with the grant in a copy of the configuration.
 */
export async function suggestGrant(refused: Refused): Promise<Suggestion | null> {
  const { run, missing, options, compare } = refused
  for (const subject of candidateSubjects(run, missing)) {
    const found = await searchFor(subject, refused)
    if (!found) continue
    const { collection } = missing
    const patch = patchOf(run.config, collection, subject, found.rules)
    const diff = compare(run.config, applyPatch(run.config, patch), options)
    return {
      collection,
      subject,
      rules: place(found.rules, expand(readOwn(grantsOf(run.config, collection), subject), subject)),
      names: found.names,
      conditions: found.conditions,
      patch,
      diff,
    }
  }
  return null
}

/**
 * Returns the subjects to try, in order: `owner` if the caller created the document, the caller's roles in the order of
 * the configuration, `user`, `*`.
 */
function candidateSubjects(run: ExplainedRun, { collection, document, place }: Missing): readonly string[] {
  const { caller } = place.operation.asking
  if (caller === null) return [EVERYONE]
  const stored = run.stored.get(collection)?.find(({ _id }) => _id === document)
  const isOwn = stored ? readOwn(stored, 'createdBy') === caller.id : isCreated(run, place, document)
  const named = Object.keys(grantsOf(run.config, collection)).filter((name) => caller.roles.includes(name))
  const roles = [...new Set([...named, ...caller.roles])].filter(isRole)
  return [...(isOwn ? [OWNER] : []), ...roles, SIGNED_IN, EVERYONE]
}

/** Whether another operation of the same batch creates the document. */
const isCreated = (run: ExplainedRun, { place }: ExplainedOperation, document: string | null): boolean =>
  document !== null &&
  placesOf(run).some(
    (other) => other.place !== place && other.id === document && other.operation.operation === 'create',
  )

/** Tries candidates for one subject. Those with the fewest additions are tried first. */
async function searchFor(
  subject: string,
  { run, missing, options }: Refused,
): Promise<Candidate | undefined> {
  const first = { rules: {}, names: [], conditions: 0 }
  const open: Candidate[] = [...nextCandidates(subject, first, run, missing.collection)]
  const known = new Set<string>()
  for (let tried = 0; tried < MOST_CANDIDATES; ) {
    const candidate = takeFirst(open)
    if (!candidate) return undefined
    const key = JSON.stringify(candidate.rules)
    if (known.has(key) || candidate.conditions > MOST_CONDITIONS) continue
    known.add(key)
    tried += 1
    const patch = patchOf(run.config, missing.collection, subject, candidate.rules)
    const again = await tryRun(applyPatch(run.config, patch), run, options)
    if (!again) continue
    if (isThrough(again)) return candidate
    open.push(...nextCandidates(subject, candidate, again, missing.collection))
  }
  return undefined
}

/** Removes and returns the best candidate: with the fewest names, then the fewest conditions, then the earliest. */
function takeFirst(open: Candidate[]): Candidate | undefined {
  let first = 0
  for (const [i, { names, conditions }] of open.entries()) {
    const best = open[first]
    const order = best && (names.length - best.names.length || conditions - best.conditions)
    if (order !== undefined && order < 0) first = i
  }
  return open.splice(first, 1)[0]
}

/** Runs the request under another configuration; `undefined` if that configuration is invalid. */
async function tryRun(
  config: unknown,
  { request }: ExplainedRun,
  options: InsightOptions,
): Promise<ExplainedRun | undefined> {
  try {
    return await runRequest(config, request, options)
  } catch (thrown) {
    if (thrown instanceof ConfigError) return undefined
    throw thrown
  }
}

/** Whether a request succeeded, and no property was dropped that a rule could accept. */
const isThrough = ({ answer: { status }, operations }: ExplainedRun): boolean =>
  ((status >= 200 && status < 300) || status === 304) &&
  operations.every(({ collection, bodies }) => bodies.every((body) => isWhole(collection, body)))

/** Returns candidates that extend a failed candidate by one addition: a missing right, or a part of a rule. */
function nextCandidates(
  subject: string,
  candidate: Candidate,
  run: ExplainedRun,
  collection: string,
): readonly Candidate[] {
  const missing = findMissing(run)
  if (missing && missing.collection !== collection) return []
  if (missing && !(missing.operation in candidate.rules)) return addRight(subject, candidate, run, missing)
  const dropping = missing ? undefined : findDropping(run, collection)
  const isNew = dropping && !(dropping.operation in candidate.rules)
  const repaired = (Object.keys(candidate.rules) as RuleOperation[]).flatMap((operation) => {
    const placed = candidate.rules[operation]
    return placed ? repair(run, candidate, collection, { subject, operation, ...placed }) : []
  })
  return [...(isNew ? addRight(subject, candidate, run, dropping) : []), ...repaired]
}

/** Finds the right to write the properties that a successful request dropped. */
function findDropping(run: ExplainedRun, collection: string): Missing | undefined {
  const place = placesOf(run).find(
    ({ operation: { collection: its, bodies } }) =>
      its.name === collection && !bodies.every((body) => isWhole(its, body)),
  )
  return place && { operation: place.operation.operation, collection, document: place.id, place }
}

/**
 * Adds a right to a candidate. A rule that the subject already has is extended and never replaced, so no caller loses a
 * right. A subject without such a rule gets a copy of the rule that decided.
 */
function addRight(
  subject: string,
  candidate: Candidate,
  run: ExplainedRun,
  { operation, collection, place }: Missing,
): readonly Candidate[] {
  // A document that does not exist yet has no owner.
  if (subject === OWNER && operation === 'create') return []
  const own = findFirstTried(place, subject, operation)
  const rule = own && findRule(run.config, collection, own, operation)?.rule
  if (own && rule) return repair(run, candidate, collection, { subject, operation, rule, place: own.place })
  const fresh = findDecisive(run.config, place, operation) ?? FRESH[operation]
  const added = { rule: fresh, names: [], conditions: 0 }
  return [join(candidate, { operation, place: `/${operation}` }, added)]
}

/** Returns the first rule of a subject that was tried for a rejected body, or else its first rule. */
function findFirstTried(
  { operation: { collection, bodies } }: ExplainedOperation,
  subject: string,
  operation: RuleOperation,
): Rule | undefined {
  const rules = rulesOf(collection.permissions[operation], subject)
  const failed = bodies.find((body) => !isWhole(collection, body))
  return failed?.attempts.find(({ rule }) => rules.includes(rule))?.rule ?? rules[0]
}

/** Returns candidates with a changed form of a subject's rule. */
const repair = (
  run: ExplainedRun,
  candidate: Candidate,
  collection: string,
  { subject, operation, rule, place }: Pick<Broken, 'operation' | 'rule'> & Pick<Rule, 'subject' | 'place'>,
): readonly Candidate[] =>
  placesOf(run).flatMap((one) => {
    const recorded = one.operation
    const rules = rulesOf(recorded.collection.permissions[operation], subject)
    const compiled = rules.find((own) => own.place === place)
    const isAsked = recorded.operation === operation || (operation === 'read' && one.id !== null)
    // A rule that comes from a grant as a whole gets a place of its own.
    const at = { operation, place: place || `/${operation}` }
    return compiled && isAsked && recorded.collection.name === collection
      ? repairRule(one, { operation, rule, compiled }).map((repaired) => join(candidate, at, repaired))
      : []
  })

const join = (
  candidate: Candidate,
  { operation, place }: Pick<Rule, 'place'> & { readonly operation: RuleOperation },
  { rule, names, conditions }: Repaired,
): Candidate => ({
  rules: { ...candidate.rules, [operation]: { rule, place } },
  names: [...new Set([...candidate.names, ...names])],
  conditions: candidate.conditions + conditions,
})
