import type { Collection } from '../../../config/plan.js'
import { compilePath } from '../../../json/own-properties.js'
import type { Rule, RuleOperation } from '../../../permissions/grants.js'
import { selectReadRules } from '../../../permissions/read-gate.js'
import type { JsonObject, RuleConfig, WhereConfig } from '../../../types.js'
import { isKeepable } from '../dropped.js'
import { findRule } from '../find-rule.js'
import { fieldsIn } from '../judge-condition.js'
import { placeOfCheck } from '../judge-operations.js'
import type { ExplainedOperation } from '../places.js'
import type { RecordedAttempt, RecordedBody } from '../recorder.js'

/** A rule that is closer to letting a request through. */
export interface Repaired {
  readonly rule: RuleConfig
  /** The additional names that it accepts. */
  readonly names: readonly string[]
  /** The added conditions. */
  readonly conditions: number
}

/** A rule as written, and compiled. */
interface Broken {
  readonly operation: RuleOperation
  readonly rule: RuleConfig
  readonly compiled: Rule
}

/** The next forms of a rule under which an operation was rejected, or that dropped a property. */
export function* repairRule(
  { operation: recorded, id }: ExplainedOperation,
  broken: Broken,
): Generator<Repaired> {
  const { operation, rule, compiled } = broken
  const { collection } = recorded
  if (operation === 'read') {
    const look = recorded.looks.find(({ document }) => document._id === id)
    if (look && !look.holds) yield* widen(rule, 'where', rule.where, look.document)
    return
  }
  const fit = recorded.fits.findLast((one) => one.rule === compiled && !one.holds)
  if (fit) yield* widen(rule, 'where', rule.where, fit.document)
  for (const body of recorded.bodies) {
    if (isWhole(collection, body)) continue
    const attempt = body.attempts.find((one) => one.rule === compiled)
    const names = attempt ? droppedBy(collection, body, attempt) : []
    if (names.length > 0) yield { rule: acceptNames(collection, rule, names), names, conditions: 0 }
    const checked = attempt?.checked
    const check = placeOfCheck({ rule, pointer: '' }, operation)?.check
    if (checked && !checked.holds) yield* widen(rule, 'check', check, checked.document)
  }
}

/** Widens a condition by an alternative: a field that it names equals the value of the document. */
function* widen(
  rule: RuleConfig,
  name: 'where' | 'check',
  condition: WhereConfig | undefined,
  document: JsonObject,
): Generator<Repaired> {
  for (const field of condition ? fieldsIn(condition) : []) {
    const equality = { [field]: scalarOf(compilePath(field)(document)) }
    yield { rule: { ...rule, [name]: either(condition ?? {}, equality) }, names: [], conditions: 1 }
  }
}

/** A value that an equality can name: an element of an array, `null` for a missing value. */
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

/** The names that a rule dropped from a body although a rule could keep them. */
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

/** Whether a body was accepted, and no property dropped that a rule could keep. */
export function isWhole(collection: Collection, body: RecordedBody): boolean {
  const ran = body.attempts.find(({ outcome }) => outcome?.kind === 'fits')
  return ran !== undefined && droppedBy(collection, body, ran).length === 0
}

/** The same rule, with more accepted names. */
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

/** The rule that decided: the first one that was tried, or would have been; `null` for none. */
export function findDecisive(
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
  return decisive ? (findRule(config, collection.name, decisive.subject, operation)?.rule ?? null) : null
}

const FRESH: { readonly [operation in RuleOperation]: RuleConfig } = {
  create: { pick: [] },
  read: {},
  update: { pick: [] },
  delete: {},
}

/** A rule for a subject without one: it accepts no property of a body yet. */
export const freshRule = (operation: RuleOperation): RuleConfig => FRESH[operation]
