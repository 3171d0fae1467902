import type { FinderScope, FindingReport } from '../../config/finder.js'
import { isDemandOn, leads } from '../../config/leads.js'
import type { Claim, Collection, ServicePlan } from '../../config/plan.js'
import type { Field } from '../../fields/field-type.js'
import { type FieldRef, ID } from '../../filter/filter.js'
import { isEqualJson } from '../../json/equality.js'
import { isRole, listRules, OWNER, type Rule } from '../../permissions/grants.js'
import { acceptsProperty } from '../../permissions/write-rules.js'
import { claimIn, findVariables, isVariable, NOW, USER, userPathOf } from '../../query/variable.js'
import type { Where } from '../../query/where.js'
import type { AuthConfig, ClaimConfig } from '../../types.js'
import type { Demand, Ways } from '../query/demands.js'

/** Warns of rules that trust values that other people can change (CONTRACT.md §5, "Claims"). */
export function warnOfRules({ plan }: FinderScope, report: FindingReport): void {
  const { claims, collections, auth, config } = plan
  const { auth: written = {} } = config
  const identifier = auth && written.requireVerified !== true ? `${USER}${auth.identifier.name}` : undefined
  for (const collection of collections.values()) {
    const place = report.at('collections').at(collection.name).at('permissions')
    for (const [subject, rules] of rulesBySubject(collection)) {
      if (rules.some((rule) => identifier !== undefined && namesVariable(rule, identifier)))
        place.at(subject).fault('unverified_identifier', `${identifier} ${UNVERIFIED}`)
      const loose = new Set(
        rules.flatMap(({ where, check }) => findLoose([where, check], collection, plan, written)),
      )
      for (const message of loose) place.at(subject).fault('reusable_id', message)
    }
  }
  warnOfEach(claims, report, (claim, found) => {
    if (identifier !== undefined && variablesOf(claim.where).includes(identifier))
      found.fault('unverified_identifier', `${identifier} ${UNVERIFIED}`)
    const collection = collections.get(claim.from)
    const loose = collection ? findLoose([claim.where], collection, plan, written) : []
    for (const message of new Set(loose)) found.fault('reusable_id', message)
  })
}

/**
 * Reports the findings of each claim, and those of its bases, because it depends on their values. `own` is the place of
 * the claim itself, if it is not judged as a base.
 */
function warnOfEach(
  claims: ServicePlan['claims'],
  report: FindingReport,
  warn: (claim: Claim, found: Pick<FindingReport, 'fault'>, own?: FindingReport) => void,
): void {
  for (const claim of claims.values()) {
    const place = report.at('auth').at('claims').at(claim.name)
    warn(claim, place, place)
    for (const name of claim.bases) {
      const base = claims.get(name)
      if (base)
        warn(base, {
          fault: (code, message, mend) => place.fault(code, `it uses the claim ${name}: ${message}`, mend),
        })
    }
  }
}

const UNVERIFIED =
  'is not verified: without "requireVerified", anyone may register with the identifier of another person'

function rulesBySubject({ permissions }: Collection): ReadonlyMap<string, readonly Rule[]> {
  const found = new Map<string, Rule[]>()
  for (const rules of Object.values(permissions)) {
    for (const [subject, own] of rules) found.set(subject, [...(found.get(subject) ?? []), ...own])
  }
  return found
}

const variablesOf = (where: Where): readonly string[] => (where.kind === 'bound' ? where.variables : [])

const namesVariable = ({ where, check, set }: Rule, variable: string): boolean =>
  [...variablesOf(where), ...variablesOf(check), ...findVariables([...set.values()])].includes(variable)

/**
 * Returns warnings for comparisons with a claim that remain true for the id of a deleted document, because anyone may
 * create a document with this id again.
 */
function findLoose(
  wheres: readonly Where[],
  { paths }: Collection,
  { claims, collections }: Pick<ServicePlan, 'claims' | 'collections'>,
  { claims: written = {} }: AuthConfig,
): readonly string[] {
  return wheres
    .flatMap(({ ways }) => ways.flat())
    .flatMap(({ path, variable }) => {
      const claim = claims.get(claimIn(claims, variable) ?? '')
      const field = paths.get(path)
      if (!claim || !field) return []
      const one = holdsIds(field)
      const other = holdsIdsOf(claim, written[claim.name]?.take, collections)
      if (one === other) return []
      const text = one
        ? `${variable} contains strings, not references`
        : `${path} is a string, not a reference`
      return [`${text}: after a document is deleted, anyone may create one with the same _id`]
    })
}

const IDS: readonly string[] = ['_id', 'createdBy']

/** Whether a field holds document ids, which become invalid when the document they identify is deleted. */
const holdsIds = (field: Field): boolean => {
  const inner = field.items ?? field
  return inner.type === 'reference' || IDS.includes(field.path)
}

function holdsIdsOf(
  { from }: Claim,
  take: string | undefined,
  collections: ReadonlyMap<string, Collection>,
): boolean {
  const field = collections.get(from)?.fields.find(({ name }) => name === take)
  return take === '_id' || (field !== undefined && holdsIds(field))
}

/** A claim as it is configured, and the collection of its documents. */
interface JudgedClaim extends Pick<ClaimConfig, 'take'> {
  readonly claim: Claim
  readonly collection: Collection
  /**
   * The references whose `match` includes the taken field. They limit a caller to values that belong to a document to
   * which others have given the caller access.
   */
  readonly agreeing: readonly Field[]
}

/**
 * Warns of claims that cost too much, or that may have more values than their author expects (CONTRACT.md §5,
 * "Claims").
 */
export function warnOfClaims({ plan }: FinderScope, report: FindingReport): void {
  const { claims, collections, matches, config } = plan
  warnOfEach(claims, report, (claim, place, own) => {
    const collection = collections.get(claim.from)
    const take = config.auth?.claims?.[claim.name]?.take
    if (!collection || take === undefined) return
    const agreeing = (matches.from.get(claim.from) ?? [])
      .filter(({ pairs }) => pairs.some(({ here }) => here.path === take))
      .map(({ field }) => field)
    const judged = { claim, collection, take, agreeing }
    if (own) warnOfScan(judged, own)
    for (const subject of subjectsOf(judged, givesItself))
      place.fault(
        'self_given_claim',
        `${subject} may write documents in ${claim.from} that give this claim to the writer; prevent it by a check that compares ${take} with a claim, or by a reference with a match`,
      )
    for (const subject of subjectsOf(judged, givesOthers))
      place.fault(
        'unbounded_claim',
        `${subject} may create any number of these documents in ${claim.from} for another user, although only the oldest are used`,
      )
  })
}

const eachWayHas = (ways: Ways, isWanted: (demand: Demand) => boolean): boolean =>
  ways.every((way) => way.some(isWanted))

const LOOKED_UP: readonly Demand['kind'][] = ['value', 'caller', 'values', 'claim']

/** Warns of a claim whose `where` scans the whole collection. */
function warnOfScan({ claim, collection }: JudgedClaim, place: FindingReport): void {
  const { ways } = claim.where
  const [first = []] = ways
  const fixed = first.filter(
    ({ path, kind }) =>
      LOOKED_UP.includes(kind) &&
      eachWayHas(ways, (other) => other.path === path && LOOKED_UP.includes(other.kind)),
  )
  const isFixed = (column: FieldRef): boolean => fixed.some((demand) => isDemandOn(demand, column))
  const indexes = [{ fields: [ID] }, ...collection.storage.indexes]
  if (indexes.some((index) => leads(index, isFixed, isFixed))) return
  // An index can have at most one array field, so only the first array is suggested.
  const array = fixed.find(({ isList }) => isList)?.path
  const names = [
    ...new Set(fixed.flatMap(({ path, isList }) => (isList && path !== array ? [] : [path]))),
  ].filter((path) => !path.includes('.'))
  const mend =
    names.length > 0
      ? `add "indexes": [{ "fields": ${JSON.stringify(names)} }] to ${claim.from}`
      : `let it require one value of an indexed field of ${claim.from}`
  const message = `this filter scans the collection for each request that needs the claim; ${mend}`
  place.at('where').fault('claim_without_index', message)
}

type Judge = (judged: JudgedClaim, rule: Rule, operation: 'create' | 'update') => boolean

/** Returns the subjects that have a rule for which `judge` returns true. Roles that may do everything are left out. */
function subjectsOf(judged: JudgedClaim, judge: Judge): ReadonlySet<string> {
  const { permissions } = judged.collection
  const found = (['create', 'update'] as const).flatMap((operation) =>
    listRules(permissions[operation]).filter(
      (rule) => !(isRole(rule.subject) && rule.acceptsRole) && judge(judged, rule, operation),
    ),
  )
  return new Set(found.map(({ subject }) => subject))
}

const givesItself: Judge = ({ claim, collection, take, agreeing }, rule, operation) => {
  const chooses = (name: string): boolean => acceptsProperty(rule, name, collection) && !rule.set.has(name)
  const isOwnId = take === '_id' && (operation === 'create' || rule.subject === OWNER)
  if (isOwnId || differs(claim.where.ways, rule.check.ways)) return false
  if (operation === 'create' && !chooses(take)) return false
  const moves = [take, ...claim.where.ways.flat().map(topOf)].some(
    (name) => chooses(name) || rule.set.has(name),
  )
  if (!moves) return false
  // If the rule cannot change the taken field, `where` has already checked the field's value.
  const stays = operation === 'update' && !chooses(take) && !rule.set.has(take)
  const isGuarded = (ways: Ways): boolean =>
    eachWayHas(ways, (demand) => isClaimed(demand, take) || isAgreed(demand, agreeing))
  const isAlways = agreeing.some(({ definition }) => definition.required)
  return !isAlways && !isGuarded(rule.check.ways) && !(stays && isGuarded(rule.where.ways))
}

const isClaimed = ({ path, kind }: Demand, name: string): boolean => path === name && kind === 'claim'

/** Whether a condition requires a value in one of the agreeing references. */
const isAgreed = ({ path, kind }: Demand, agreeing: readonly Field[]): boolean =>
  kind !== 'other' && agreeing.some((field) => field.path === path)

const givesOthers: Judge = ({ claim, collection, take }, rule, operation) => {
  if (operation === 'update' || differs(claim.where.ways, rule.check.ways)) return false
  const demands = claim.where.ways.flat()
  const subjects = demands.filter(({ variable }) => variable !== undefined && variable !== NOW)
  const isOwn = (path: string): boolean =>
    isVariable(rule.set.get(path)) ||
    eachWayHas(rule.check.ways, (other) => other.path === path && other.kind === 'caller')
  // Several callers may have the same value of a base.
  const isShared = ({ variable = '' }: Demand): boolean => claim.bases.includes(userPathOf(variable) ?? '')
  const isPinned = subjects.some(
    (subject) => !isShared(subject) && (subject.path === 'createdBy' || isOwn(subject.path)),
  )
  const fills = (demand: Demand): boolean =>
    demand.kind === 'other' ||
    acceptsProperty(rule, topOf(demand), collection) ||
    rule.set.has(topOf(demand)) ||
    topOf(demand).startsWith('_') ||
    hasDefault(collection.fields, topOf(demand))
  // If each caller adds only an own value, a unique index limits what one of them adds.
  const few = [...subjects.map(topOf), ...(claim.bases.length > 0 && isOwn(take) ? [take] : [])]
  return !isPinned && demands.every(fills) && !isBounded(collection, new Set(few))
}

const hasDefault = (fields: readonly Field[], name: string): boolean => {
  const definition = fields.find((field) => field.name === name)?.definition
  return definition !== undefined && 'default' in definition
}

/** Whether a unique index limits each subject to a few documents. */
const isBounded = ({ storage, fields }: Collection, subjects: ReadonlySet<string>): boolean => {
  const isFew = (name: string): boolean => {
    const definition = fields.find((field) => field.name === name)?.definition
    return definition?.type === 'boolean' || (definition !== undefined && 'enum' in definition)
  }
  return storage.indexes.some(
    (index) => index.unique && index.fields.every(({ path }) => subjects.has(path) || isFew(path)),
  )
}

/** Whether no document matches both filters, because they require different values of a field. */
const differs = (one: Ways, other: Ways): boolean =>
  one.every((way) => other.every((mine) => way.some((demand) => isApart(demand, mine))))

const isApart = (demand: Demand, others: Ways[number]): boolean =>
  others.some((other) => areApart(demand, other))

const areApart = (a: Demand, b: Demand): boolean =>
  a.path === b.path &&
  !a.isList &&
  a.literals !== undefined &&
  b.literals !== undefined &&
  !a.literals.some((value) => b.literals?.some((other) => isEqualJson(value, other)))

const topOf = ({ path }: Demand): string => path.split('.')[0] ?? path
