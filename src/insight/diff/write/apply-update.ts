import type { Field } from '../../../fields/field-type.js'
import type { Rule } from '../../../permissions/grants.js'
import { acceptsProperty } from '../../../permissions/write-rules.js'
import { isAnywhere } from '../../../query/where.js'
import { holdsImmutable } from '../../../schema/changes.js'
import { forUpdate } from '../../../schema/update-fields.js'
import { whereHolds } from '../model/conditions.js'
import {
  always,
  bodyKey,
  type Cases,
  choose,
  type Sources,
  sourceOfFilled,
  sourceOfMerged,
  storedKey,
  TIME,
  variable,
} from '../model/sources.js'
import { isSame, isThere } from '../model/values.js'
import { ALWAYS, type Diagram, NEVER } from '../solver/diagrams.js'
import { inside, isBound, isUnfit, judgeFaults, withSystem } from './try-rule.js'
import { type Applied, accepts, type Write } from './writing.js'

/** Applies a rule to a document that it changes. */
export function applyUpdate(write: Write, rule: Rule): Applied {
  const { mode, sight, names, body } = write
  const { logic, collection } = sight
  const { and, or, not } = logic
  const isAccepted = (name: string): boolean => accepts(write, rule, name)
  const isKept = (name: string): Diagram => (isAccepted(name) ? body.names(name) : NEVER)
  const isIdle = mode === 'patch' ? not(or(...names.map(isKept))) : NEVER
  const byName = new Map(collection.fields.map((field) => [field.name, field]))
  const isShown = (name: string): Diagram => (byName.get(name)?.type === 'hash' ? NEVER : write.shows(name))
  const isReplaced = (name: string): Diagram => {
    const field = byName.get(name)
    const isFixed = field?.type === 'hash' || field?.definition.immutable === true
    const isCovered = !isFixed && name !== collection.roleField && acceptsProperty(rule, name, collection)
    return mode === 'put' && isCovered ? isShown(name) : NEVER
  }
  const written = (name: string): Cases => {
    const field = byName.get(name)
    const put = (value?: unknown): Cases =>
      always(mode === 'put' ? sourceOfFilled(field && forUpdate(field), value) : sourceOfMerged(field, value))
    if (rule.set.has(name)) return put(rule.set.get(name))
    const orDefault = put()
    const given = choose(logic, body.isNull(name), orDefault, always(variable(bodyKey(name))))
    return choose(logic, isKept(name), given, choose(logic, isReplaced(name), orDefault, stay(name)))
  }
  const sourcesOf = (name: string): Cases =>
    rule.set.has(name) ? choose(logic, isIdle, stay(name), written(name)) : written(name)
  const faults = new Map<string, Diagram>()
  const addFaults = (field: Field): void => {
    const { name, definition } = field
    const canMiss = definition.required === true
    if (!canMiss && !rule.set.has(name) && !holdsImmutable(field)) return
    const isNamed = rule.set.has(name) ? ALWAYS : isKept(name)
    const isSeen = isShown(name)
    const isFixed = holdsImmutable(field)
      ? or(not(isSeen), not(isSame(logic, stay(name), written(name))))
      : NEVER
    const breaks = and(isNamed, isFixed)
    const wasThere = or(not(isSeen), isThere(logic, stay(name)))
    const misses = canMiss
      ? and(or(isNamed, isReplaced(name)), not(breaks), not(isThere(logic, written(name))), wasThere)
      : NEVER
    faults.set(`${name} immutable`, breaks)
    faults.set(`${name} required`, misses)
    faults.set(`${name} set`, and(isUnfit(write, rule, field), not(breaks), not(misses)))
  }
  collection.fields.forEach(addFaults)
  const sources = withSystem(merge(write, rule, written), {
    _id: variable(storedKey('_id')),
    createdAt: variable(storedKey('createdAt')),
    createdBy: variable(storedKey('createdBy')),
    updatedAt: variable(TIME),
  })
  const judged = judgeFaults(write, rule, faults)
  const isAdmitted = isAnywhere(rule.check) ? ALWAYS : whereHolds(logic, rule.check, sources)
  return {
    runs: or(isIdle, and(isBound(write, rule), judged.isSound, isAdmitted)),
    faults: new Map([...judged.faults].map(([fault, when]) => [fault, and(not(isIdle), when)])),
    stored: {
      rule,
      accepts: isAccepted,
      isKept,
      sourcesOf,
      isGiven: (name) => (rule.set.has(name) ? isKept(name) : or(isKept(name), isReplaced(name))),
    },
  }
}

const stay = (name: string): Cases => always(variable(storedKey(name)))

/** The sources inside objects: a PATCH keeps properties that it does not name. */
const merge = ({ mode, sight: { logic }, body }: Write, rule: Rule, written: Sources): Sources => {
  const sources = inside(rule, written)
  if (mode !== 'patch') return sources
  return (path) => {
    if (!path.includes('.')) return sources(path)
    const own = bodyKey(path)
    return sources(path).flatMap(([when, source]): Cases => {
      if (source.kind === 'fixed' || source.key !== own) return [[when, source]]
      return narrow(logic, when, choose(logic, body.names(path), always(source), stay(path)))
    })
  }
}

/** The same cases, under one more condition. */
const narrow = (logic: Write['sight']['logic'], also: Diagram, cases: Cases): Cases =>
  cases.map(([when, source]) => [logic.and(also, when), source] as const)
