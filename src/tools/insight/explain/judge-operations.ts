import type { Collection } from '../../../core/config/plan.js'
import { isSystemField } from '../../../core/fields/schema/names.js'
import { matches } from '../../../core/filter/matches.js'
import { compilePath, isObject } from '../../../core/json/own-properties.js'
import { createReport } from '../../../core/json/report.js'
import type { BoundCaller, KnownCaller } from '../../../core/permissions/caller.js'
import {
  EVERYONE,
  includesProperty,
  isRole,
  OWNER,
  type Rule,
  type RuleOperation,
  rulesOf,
  SIGNED_IN,
} from '../../../core/permissions/grants.js'
import { appliesTo } from '../../../core/permissions/read-gate.js'
import { decidingSubjects, MAX_TRIED } from '../../../core/permissions/write-rules.js'
import { isOperator, OPTIONS } from '../../../core/query/condition.js'
import { type Binding, bindValue, findVariables } from '../../../core/query/variable.js'
import { bindWhere, parseWhere, type WhereScope } from '../../../core/query/where.js'
import type { StoredDocument } from '../../../core/storage.js'
import type { Caller, JsonObject, OperatorName, WhereConfig } from '../../../core/types.js'
import { findRule, placeOfCheck, type WrittenRule } from '../written-rules.js'
import type {
  DroppedProperty,
  JudgedComparison,
  JudgedCondition,
  JudgedRule,
  Judgement,
} from './explanation.js'
import { type ExplainedOperation, placesOf } from './places.js'
import type { RecordedBody, RecordedOperation } from './recorder.js'
import type { ExplainedRun } from './run-request.js'

/** A document, and the caller for whom a condition on it is evaluated. */
interface ConditionSubject {
  readonly collection: Collection
  readonly claims: WhereScope['claims']
  readonly asking: BoundCaller
  readonly document: JsonObject
}

/**
 * Evaluates a condition of the configuration on a document, part by part. Each comparison is parsed, bound and
 * evaluated as in the service.
 */
function judgeCondition(where: WhereConfig, pointer: string, judging: ConditionSubject): JudgedCondition {
  const parts = Object.entries(where).map(([name, asked]) => judgeEntry(name, asked, pointer, judging))
  return all(parts, pointer)
}

function judgeEntry(name: string, asked: unknown, outer: string, judging: ConditionSubject): JudgedCondition {
  const pointer = `${outer}/${name}`
  if ((name === '$or' || name === '$and') && Array.isArray(asked)) {
    const parts = asked.map((group, i) => judgeCondition(group, `${pointer}/${i}`, judging))
    return name === '$and'
      ? all(parts, pointer)
      : { kind: 'any', pointer, holds: parts.some(({ holds }) => holds), parts }
  }
  if (!isObject(asked))
    return judgeComparison({ field: name, operator: '$eq', operand: asked }, pointer, judging)
  const parts = Object.entries(asked).flatMap(([operator, operand]): JudgedCondition[] =>
    isOperator(operator)
      ? [
          judgeComparison(
            { field: name, operator, operand, options: asked[OPTIONS] },
            `${pointer}/${operator}`,
            judging,
          ),
        ]
      : [],
  )
  return all(parts, pointer)
}

/** Combines parts that must all be true. A single part needs no group. */
function all(parts: readonly JudgedCondition[], pointer: string): JudgedCondition {
  const [only] = parts
  if (only && parts.length === 1) return only
  return { kind: 'all', pointer, holds: parts.every(({ holds }) => holds), parts }
}

interface Comparison {
  readonly field: string
  readonly operator: OperatorName
  readonly operand: unknown
  readonly options?: unknown
}

function judgeComparison(
  { field, operator, operand, options }: Comparison,
  pointer: string,
  { collection, claims, asking, document }: ConditionSubject,
): JudgedComparison {
  const written = {
    [field]: { [operator]: operand, ...(options === undefined ? {} : { [OPTIONS]: options }) },
  }
  let isLacking = false
  const filter = bindWhere(parseWhere(written, scopeOf(collection, claims), UNHEARD), asking.binding, () => {
    isLacking = true
  })
  const found = compilePath(field)(document)
  const bound = operator === '$regex' ? undefined : bindOperand(operand, operator, asking.binding)
  return {
    kind: 'comparison',
    pointer,
    holds: matches(filter, document),
    field,
    operator,
    operand,
    ...(bound ? { bound: bound.value } : {}),
    isLacking,
    ...(found === undefined ? {} : { found }),
  }
}

const bindOperand = (
  operand: unknown,
  operator: OperatorName,
  binding: Binding,
): { readonly value: unknown } | undefined =>
  findVariables(operand).length === 0
    ? undefined
    : bindValue(operand, binding, operator === '$in' ? 'some' : 'all')

/** Reports nothing, because the configuration is already compiled and so has no errors. */
const UNHEARD = createReport<[message: string]>(() => true)

const scopeOf = ({ paths, parsePattern }: Collection, claims: ConditionSubject['claims']): WhereScope => ({
  paths,
  parsePattern,
  claims,
  judgeVariable: () => undefined,
  isUnsure: () => false,
})

/** Returns the properties of a body that a rule dropped, each with the line of the rule that drops it. */
function droppedFrom(
  { roleField, verifiedField }: Collection,
  body: JsonObject,
  kept: JsonObject,
  { rule, written }: { readonly rule: Rule; readonly written: WrittenRule },
): readonly DroppedProperty[] {
  const { pointer } = written
  return Object.keys(body)
    .filter((name) => !Object.hasOwn(kept, name))
    .map((name): DroppedProperty => {
      if (isSystemField(name) || name === verifiedField) return { name, by: null, why: 'service' }
      if (rule.set.has(name)) return { name, by: `${pointer}/set/${name}`, why: 'set' }
      if (!includesProperty(rule.properties, name)) return findLine(name, written)
      return { name, by: pointer, why: name === roleField ? 'role' : 'service' }
    })
}

/** Returns the properties of a document that a rule does not show, each with the line of the rule that hides it. */
function hiddenIn(
  { fields, additionalProperties }: Collection,
  document: StoredDocument,
  { properties }: Rule,
  written: WrittenRule,
): readonly DroppedProperty[] {
  const declared = new Map(fields.map((field) => [field.name, field]))
  const isSeen = (name: string): boolean =>
    !name.startsWith('_') && (isSystemField(name) || declared.has(name) || additionalProperties)
  return Object.keys(document)
    .filter((name) => isSeen(name) && !includesProperty(properties, name))
    .map((name) => findLine(name, written))
}

/** Returns the line of a rule that drops a name. */
function findLine(name: string, { pointer, rule }: WrittenRule): DroppedProperty {
  const place = rule?.omit?.indexOf(name) ?? -1
  if (place >= 0) return { name, by: `${pointer}/omit/${place}`, why: 'omit' }
  return { name, by: `${pointer}/pick`, why: 'pick' }
}

/** The maximum number of reported decisions. A list may have many documents, and a bulk request many bodies. */
const MOST = 20

/** Returns the decisions of a run in their order, and whether some were left out. */
export function judgeOperations(run: ExplainedRun): {
  readonly judgements: readonly Judgement[]
  readonly isCut: boolean
} {
  const judgements = placesOf(run).flatMap((place) => judgeOperation(run, place))
  const most = judgements.slice(0, MOST)
  return { judgements: most, isCut: judgements.length > most.length }
}

function judgeOperation(
  run: ExplainedRun,
  { operation: recorded, place, id }: ExplainedOperation,
): readonly Judgement[] {
  const { operation, collection, looks, fits, bodies, rules } = recorded
  const at = { run, recorded, place }
  if (operation === 'create')
    return bodies.length === 0
      ? [judgeWrite(at, null, null)]
      : bodies.map((body, i) =>
          judgeWrite(bodies.length > 1 ? { ...at, place: `/documents/${i}` } : at, null, body),
        )
  if (id === null) {
    const stored = rules.length > 0 ? (run.stored.get(collection.name) ?? []) : []
    return stored.length === 0 ? [judgeRead(at, null)] : stored.map((document) => judgeRead(at, document))
  }
  // Only the first look shows the document before a write, because the write also looks at the document it stored.
  const look = looks.find(({ document }) => document._id === id)
  if (operation === 'read') return [judgeRead(at, look?.document ?? null)]
  // Before it reads the document, the service rejects only anonymous callers.
  const reading =
    look || fits.length > 0 || run.answer.status === 404 ? [judgeRead(at, look?.document ?? null)] : []
  // A document that the caller may not read is not changed.
  if (reading.length > 0 && !look?.holds) return reading
  return [...reading, judgeWrite(at, look?.document ?? null, bodies.at(-1) ?? null)]
}

interface OperationContext {
  readonly run: ExplainedRun
  readonly recorded: RecordedOperation
  readonly place: string
}

/** The empty results of a rule that was not evaluated. */
const BARE = { where: null, check: null, lacking: [], dropped: [], faults: [] } as const

/** A rule of a subject, as compiled and as written. Without a rule: what the configuration has instead, if anything. */
interface FoundRule {
  readonly subject: string
  readonly rule: Rule | undefined
  readonly written: WrittenRule | null
}

/** Returns the rules of all subjects of a caller for an operation, in their order, and the subjects without rules. */
function findRules(
  { run, recorded: { collection } }: OperationContext,
  operation: RuleOperation,
  caller: KnownCaller | null,
): readonly FoundRule[] {
  const { name, permissions } = collection
  const mentions = permissions[operation]
  return subjectsOf(caller, mentions.keys(), operation).flatMap((subject): readonly FoundRule[] => {
    const rules = rulesOf(mentions, subject)
    if (rules.length === 0)
      return [{ subject, rule: undefined, written: findRule(run.config, name, { subject }, operation) }]
    return rules.map((rule) => ({ subject, rule, written: findRule(run.config, name, rule, operation) }))
  })
}

function judgeRead(at: OperationContext, document: StoredDocument | null): Judgement {
  const { recorded } = at
  const { collection, asking } = recorded
  const rules = findRules(at, 'read', asking.caller).map(({ subject, rule, written }): JudgedRule => {
    const bare = { subject, pointer: written?.pointer ?? null, ...BARE }
    if (!written || !rule) return { ...bare, verdict: written ? 'refused' : 'silent' }
    if (!document) return { ...bare, verdict: 'open' }
    const where = judgeWhere(at, rule, written, document)
    if (where?.holds === false) return { ...bare, verdict: 'where', where }
    return { ...bare, verdict: 'granted', where, dropped: hiddenIn(collection, document, rule, written) }
  })
  return judgementOf(at, 'read', document, rules)
}

function judgementOf(
  { recorded: { collection }, place }: OperationContext,
  operation: RuleOperation,
  document: StoredDocument | null,
  rules: readonly JudgedRule[],
): Judgement {
  const isGranted = rules.some(({ verdict }) => verdict === 'granted' || verdict === 'open')
  return { operation, collection: collection.name, place, document: document?._id ?? null, isGranted, rules }
}

function judgeWrite(
  at: OperationContext,
  document: StoredDocument | null,
  body: RecordedBody | null,
): Judgement {
  const { recorded } = at
  const { operation, collection, asking } = recorded
  const mentions = collection.permissions[operation]
  const deciding = decidingSubjects(mentions, asking.caller)
  const candidates = deciding.flatMap((subject) => rulesOf(mentions, subject))
  const rules = findRules(at, operation, asking.caller).map(({ subject, rule, written }): JudgedRule => {
    const bare = { subject, pointer: written?.pointer ?? null, ...BARE }
    if (!written || !mentions.has(subject)) return { ...bare, verdict: 'silent' }
    if (!deciding.includes(subject)) return { ...bare, verdict: 'outranked' }
    if (rule && candidates.indexOf(rule) >= MAX_TRIED) return { ...bare, verdict: 'beyond' }
    if (!rule || !recorded.rules.includes(rule)) return { ...bare, verdict: 'refused' }
    const fit = recorded.fits.findLast((one) => one.rule === rule)
    const where = fit ? judgeWhere(at, rule, written, fit.document) : null
    if (fit && !fit.holds) return { ...bare, verdict: 'where', where }
    if (operation === 'delete') return { ...bare, verdict: fit ? 'granted' : 'open', where }
    return { ...bare, where, ...judgeAttempt(at, rule, written, body) }
  })
  return judgementOf(at, operation, document, rules)
}

type AttemptVerdict = Pick<JudgedRule, 'verdict'> & Partial<JudgedRule>

/** Returns the result of a body under a rule. */
function judgeAttempt(
  { run: { plan }, recorded: { collection, operation } }: OperationContext,
  rule: Rule,
  written: WrittenRule,
  body: RecordedBody | null,
): AttemptVerdict {
  const attempt = body?.attempts.find((one) => one.rule === rule)
  if (!body || !attempt) return { verdict: 'open' }
  const { outcome, checked, kept } = attempt
  const dropped = droppedFrom(collection, body.body, kept.body, { rule, written })
  if (!outcome) return { verdict: 'granted-before', dropped }
  const place = placeOfCheck(written, operation)
  const check =
    checked && place
      ? judgeCondition(place.check, place.pointer, { collection, claims: plan.claims, ...checked })
      : null
  if (outcome.kind === 'idle') return { verdict: 'idle', dropped }
  if (outcome.kind === 'fits') return { verdict: 'granted', dropped, check }
  if (outcome.kind === 'invalid') return { verdict: 'faults', dropped, faults: outcome.faults ?? [] }
  return checked && !checked.holds
    ? { verdict: 'check', dropped, check }
    : { verdict: 'set', dropped, lacking: findLacking(rule, body.asking) }
}

/** Returns the variables in a rule's `set` without a value; if there are none, all, because one of them is invalid. */
function findLacking({ set }: Rule, asking: BoundCaller): readonly string[] {
  const variables = [...new Set(findVariables([...set.values()]))]
  const lacking = variables.filter((variable) => bindValue(variable, asking.binding) === undefined)
  return lacking.length > 0 ? lacking : variables
}

/** Returns the subjects of a caller for an operation, in the order in which their rules are tried. */
function subjectsOf(
  caller: KnownCaller | null,
  mentioned: Iterable<string>,
  operation: RuleOperation,
): readonly string[] {
  const known = [...mentioned].filter((subject) => isRole(subject) && appliesTo(subject, caller))
  const roles = [...new Set([...known, ...(caller?.roles ?? []).filter(isRole)])]
  const others = operation === 'create' ? [SIGNED_IN, EVERYONE] : [SIGNED_IN, EVERYONE, OWNER]
  return [...roles, ...others.filter((subject) => appliesTo(subject, caller))]
}

/** Returns all subjects of a caller that a configuration can name. */
export const listSubjects = (caller: Caller | null): readonly string[] =>
  subjectsOf(caller && { id: caller.id, roles: caller.roles ?? [], fields: {} }, [], 'read')

/** Evaluates the condition of a rule on a stored document; `null` if there is no condition. */
function judgeWhere(
  { run: { plan }, recorded }: OperationContext,
  compiled: Rule,
  { rule, pointer }: WrittenRule,
  document: StoredDocument,
): JudgedCondition | null {
  const { subject } = compiled
  const { collection } = recorded
  // A write reads the caller's claims again, so the latest values are used.
  const asking = recorded.fits.at(-1)?.asking ?? recorded.looks.at(-1)?.asking ?? recorded.asking
  const judging = { collection, claims: plan.claims, asking, document }
  const parts: JudgedCondition[] = []
  if (subject === OWNER)
    parts.push(
      judgeComparison({ field: 'createdBy', operator: '$eq', operand: '$user._id' }, pointer, judging),
    )
  if (rule?.where) parts.push(judgeCondition(rule.where, `${pointer}/where`, judging))
  const isHiding = rulesOf(collection.permissions.read, subject).includes(compiled) && !isRole(subject)
  if (isHiding && plan.auth?.requiresVerified && collection.verifiedField !== null) {
    const asked = { field: collection.verifiedField, operator: '$exists', operand: true } as const
    parts.push(judgeComparison(asked, '/auth/requireVerified', judging))
  }
  const [only] = parts
  if (parts.length < 2) return only ?? null
  return { kind: 'all', pointer, holds: parts.every(({ holds }) => holds), parts }
}
