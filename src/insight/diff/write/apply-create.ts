import type { Rule } from '../../../permissions/grants.js'
import { isAnywhere } from '../../../query/where.js'
import { whereHolds } from '../model/conditions.js'
import {
  always,
  bodyKey,
  CALLER_ID,
  type Cases,
  choose,
  fixed,
  MISSING,
  sourceOfFilled,
  TIME,
  variable,
} from '../model/sources.js'
import { isThere } from '../model/values.js'
import { ALWAYS, type Diagram, NEVER } from '../solver/diagrams.js'
import { inside, isBound, isUnfit, judgeFaults, withSystem } from './try-rule.js'
import { type Applied, accepts, type Write } from './writing.js'

/** The `_id` of a created document: no condition knows it in advance. */
const NEW_ID = '01990000-0000-7000-8000-00000000ffff'

/** Applies a rule to a new document. */
export function applyCreate(write: Write, rule: Rule): Applied {
  const { body, sight } = write
  const { logic, collection } = sight
  const { and, not } = logic
  const isGiven = (name: string): Diagram => (accepts(write, rule, name) ? body.names(name) : NEVER)
  const byName = new Map(collection.fields.map((field) => [field.name, field]))
  const sourcesOf = (name: string): Cases => {
    const field = byName.get(name)
    if (rule.set.has(name)) return always(sourceOfFilled(field, rule.set.get(name)))
    const own = and(isGiven(name), not(body.isNull(name)))
    return choose(logic, own, always(variable(bodyKey(name))), always(sourceOfFilled(field)))
  }
  const faults = new Map<string, Diagram>()
  for (const field of collection.fields) {
    const { name, definition } = field
    faults.set(`${name} set`, isUnfit(write, rule, field))
    if (definition.required && !collection.fills.has(name))
      faults.set(`${name} required`, not(isThere(logic, sourcesOf(name))))
  }
  const sources = withSystem(inside(rule, sourcesOf), {
    _id: fixed(NEW_ID),
    createdAt: variable(TIME),
    updatedAt: variable(TIME),
    createdBy: write.isAccount ? fixed(NEW_ID) : write.isSignedIn ? variable(CALLER_ID) : MISSING,
  })
  const judged = judgeFaults(write, rule, faults)
  const isAdmitted = isAnywhere(rule.check) ? ALWAYS : whereHolds(logic, rule.check, sources)
  return {
    runs: and(isBound(write, rule), judged.isSound, isAdmitted),
    faults: judged.faults,
    stored: { rule, accepts: (name) => accepts(write, rule, name), isGiven, isKept: isGiven, sourcesOf },
  }
}
