import type { Field } from '../../fields/field-type.js'
import type { WarningReport } from '../../json/report.js'
import type { Rule } from '../../permissions/grants.js'
import { claimIn, findVariables, USER } from '../../query/variable.js'
import type { Where } from '../../query/where.js'
import type { AuthConfig } from '../../types.js'
import type { Claim, Collection, ServicePlan } from '../plan.js'

/** Warns of rules that trust values which others can change (CONTRACT.md §5, "Claims"). */
export function warnOfRules(
  written: AuthConfig & { readonly requireVerified?: boolean },
  plan: Pick<ServicePlan, 'claims' | 'collections' | 'auth'>,
  report: WarningReport,
): void {
  const { claims, collections, auth } = plan
  const identifier = auth && written.requireVerified !== true ? `${USER}${auth.identifier.name}` : undefined
  for (const collection of collections.values()) {
    const place = report.at('collections').at(collection.name).at('permissions')
    for (const [subject, rules] of rulesBySubject(collection)) {
      if (rules.some((rule) => identifier !== undefined && namesVariable(rule, identifier)))
        place.at(subject).fault('unverified_identifier', `${identifier} ${UNVERIFIED}`)
      const loose = new Set(rules.flatMap((rule) => findLoose(rule, collection, plan, written)))
      for (const message of loose) place.at(subject).fault('reusable_id', message)
    }
  }
  for (const { name, where } of claims.values()) {
    if (identifier !== undefined && variablesOf(where).includes(identifier))
      report.at('auth').at('claims').at(name).fault('unverified_identifier', `${identifier} ${UNVERIFIED}`)
  }
}

const UNVERIFIED =
  'is not verified: without "requireVerified", anyone may register with the identifier of another person'

function rulesBySubject({ permissions }: Collection): ReadonlyMap<string, readonly Rule[]> {
  const found = new Map<string, Rule[]>()
  for (const rules of Object.values(permissions)) {
    for (const [subject, rule] of rules) {
      if (rule) found.set(subject, [...(found.get(subject) ?? []), rule])
    }
  }
  return found
}

const variablesOf = (where: Where): readonly string[] => (where.kind === 'bound' ? where.variables : [])

const namesVariable = ({ where, check, set }: Rule, variable: string): boolean =>
  [...variablesOf(where), ...variablesOf(check), ...findVariables([...set.values()])].includes(variable)

/** The reason why a comparison with a claim may hold for the id of a deleted document. */
function findLoose(
  { where, check }: Rule,
  { paths }: Collection,
  { claims, collections }: Pick<ServicePlan, 'claims' | 'collections'>,
  { claims: written = {} }: AuthConfig,
): readonly string[] {
  return [...where.ways, ...check.ways].flat().flatMap(({ path, variable }) => {
    const claim = claims.get(claimIn(claims, variable) ?? '')
    const field = paths.get(path)
    if (!claim || !field) return []
    const one = holdsIds(field)
    const other = holdsIdsOf(claim, written[claim.name]?.take, collections)
    if (one === other) return []
    const text = one ? `what ${variable} holds` : path
    return [`${text} is text, not a reference: once a document is deleted, anyone may choose its _id again`]
  })
}

const IDS: readonly string[] = ['_id', 'createdBy']

/** Whether a field holds ids that are removed with their documents. */
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
