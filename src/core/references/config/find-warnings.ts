import { expandGrant } from '../../config/compile-permissions.js'
import type { FinderScope, FindingReport } from '../../config/finder.js'
import type { Collection, Referrer } from '../../config/plan.js'
import { isObject } from '../../json/own-properties.js'
import { EVERYONE, includesProperty, type Rule, rulesOf, SIGNED_IN } from '../../permissions/grants.js'
import { isAnywhere } from '../../query/where.js'
import type { CollectionConfig } from '../../types.js'

/** Warns about references that may reveal values or extend rights (CONTRACT.md §2, "Match", "References"). */
export function warnOfReferences({ plan }: FinderScope, report: FindingReport): void {
  const { collections, matches, referrers, config } = plan
  const places = report.at('collections')
  for (const match of [...matches.from.values()].flat()) {
    const target = collections.get(match.target)
    if (!target) continue
    const [top = ''] = match.ref.path.split('.')
    const schema = places.at(match.collection).at('schema').at(top)
    for (const { there } of match.pairs)
      for (const subject of findBlind(target, there.path))
        schema.fault(
          'match_tells',
          `${subject} may read documents of ${match.target}, but not ${there.path}, whose values "match" reveals`,
        )
  }
  for (const { collection, field } of [...referrers.values()].flat().filter(isUnset)) {
    const written = config.collections?.[collection]
    if (written) warnOfWidening(written, field.path, places.at(collection).at('permissions'))
  }
}

const isUnset = ({ onDelete, field }: Referrer): boolean => onDelete === 'unset' && !field.inside

/**
 * Returns the subjects that may read documents but not this field. Leaves out a subject if a broader subject shows the
 * field of all documents.
 */
function findBlind({ permissions }: Collection, field: string): readonly string[] {
  const shows = ({ properties }: Rule): boolean => includesProperty(properties, field)
  const showsAll = (rule: Rule): boolean => shows(rule) && isAnywhere(rule.where)
  const { read } = permissions
  return [...read].flatMap(([subject, rules]) => {
    if (rules.every(shows)) return []
    const broader = subject === EVERYONE ? [] : subject === SIGNED_IN ? [EVERYONE] : [EVERYONE, SIGNED_IN]
    return [subject, ...broader].some((other) => rulesOf(read, other).some(showsAll)) ? [] : [subject]
  })
}

/**
 * Warns about rules whose filter is true if a reference is missing: after a delete has removed references, these rules
 * apply to more documents.
 */
function warnOfWidening({ permissions = {} }: CollectionConfig, path: string, report: FindingReport): void {
  for (const [subject, grant] of Object.entries(permissions)) {
    if (!isObject(grant)) continue
    for (const { rule, place } of expandGrant(grant)) {
      for (const part of ['where', 'check'] as const) {
        const at = report.at(subject).within(place).at(part).at(path)
        if (holdsWithout(rule?.[part], path)) at.fault('unset_widens', WIDENS)
      }
    }
  }
}

const WIDENS =
  'is also true without this reference, which onDelete "unset" removes when its target is deleted'

/** Whether a filter contains a condition on a field that is true if the field is missing. */
function holdsWithout(filter: unknown, path: string): boolean {
  if (!isObject(filter)) return false
  return Object.entries(filter).some(([name, condition]) => {
    if ((name === '$or' || name === '$and') && Array.isArray(condition))
      return condition.some((part) => holdsWithout(part, path))
    return name === path && isHeldByMissing(condition)
  })
}

const HELD_BY_MISSING: { readonly [operator: string]: (operand: unknown) => boolean } = {
  $eq: (operand) => operand === null,
  $ne: (operand) => operand !== null,
  $in: (operand) => Array.isArray(operand) && operand.includes(null),
  $nin: (operand) => !(Array.isArray(operand) && operand.includes(null)),
  $exists: (operand) => operand === false,
}

const isHeldByMissing = (condition: unknown): boolean =>
  condition === null ||
  (isObject(condition) &&
    Object.entries(condition).every(([operator, operand]) => HELD_BY_MISSING[operator]?.(operand) ?? false))
