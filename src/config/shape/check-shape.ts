import type { ConfigFault } from '../../errors.js'
import { copyJson } from '../../json/copy-json.js'
import { isObject } from '../../json/own-properties.js'
import { toPointerPart } from '../../json/pointer.js'
import { reportTo } from '../../json/report.js'
import { compileJsonSchema, type Violation } from '../../schema/json-schema.js'
import { findNearest } from '../../schema/names.js'
import { satisfiesSchema } from '../../schema/satisfies-schema.js'
import type { Config } from '../../types.js'
import { CONFIG_SCHEMA } from './config-schema.js'
import { describeViolation } from './describe-violation.js'
import { settleShape } from './settle-shape.js'

/** Whether the value at a JSON pointer has a fault, so that its meaning is unknown. */
export type IsUnsure = (pointer: string) => boolean

let compiled: ((value: unknown) => readonly Violation[]) | undefined

/** Most configurations are valid; the violations are collected only for the others. */
function findViolations(copied: unknown): readonly Violation[] {
  if (satisfiesSchema(CONFIG_SCHEMA, copied)) return []
  compiled ??= compileJsonSchema(CONFIG_SCHEMA, { verbose: true })
  return compiled(copied)
}

/**
 * A value that violates these keywords is still checked: the fault is in its name, or in a value beside it.
 */
const KEPT: readonly string[] = ['false schema', 'uniqueItems']

interface CheckedShape {
  readonly faults: readonly ConfigFault[]
  readonly config: Partial<Config>
  readonly isUnsure: IsUnsure
}

/** Whether a place is in a rule: leaving out one of its conditions would grant more than intended. */
const isOfRule = (pointer: string): boolean =>
  /^\/(?:collections\/[^/]+\/permissions|auth\/claims)\//.test(pointer)

/** Copies a configuration and checks its shape; returns the parts that can still be compiled. */
export function checkShape(input: unknown): CheckedShape {
  const unreadable: ConfigFault[] = []
  const copied = copyJson(input, reportTo(unreadable), isOfRule)
  const violations = findViolations(copied).filter((violation) => !isOfCopy(violation, unreadable))

  const misshapen = new Set([
    ...unreadable.map(({ path }) => path),
    ...violations.flatMap(({ isName, keyword, path }) => (isName || KEPT.includes(keyword) ? [] : [path])),
  ])
  const unsure = new Set([...misshapen, ...violations.flatMap(findMeant)])
  return {
    faults: [...unreadable, ...violations.map(describeViolation)],
    config: settleShape(copied, misshapen),
    isUnsure: (pointer) => outwards(pointer).some((outer) => unsure.has(outer)),
  }
}

/** Whether a violation only repeats that a value could not be copied. */
function isOfCopy({ path, keyword, isName }: Violation, unreadable: readonly ConfigFault[]): boolean {
  const outer = outwards(path)
  return unreadable.some((fault) => {
    if (fault.path === path) return !isName && keyword !== 'additionalProperties'
    return outer.includes(fault.path) || (keyword === 'uniqueItems' && outwards(fault.path)[1] === path)
  })
}

/** The place of the attribute that an unknown name probably misspells. */
function findMeant({ keyword, params, path, found, schema }: Violation): readonly string[] {
  if (keyword !== 'additionalProperties' || !isObject(found) || !isObject(schema?.properties)) return []
  const missing = Object.keys(schema.properties).filter((name) => !Object.hasOwn(found, name))
  const nearest = findNearest(String(params.additionalProperty), missing)
  return nearest === undefined ? [] : [path.slice(0, path.lastIndexOf('/')) + toPointerPart(nearest)]
}

/** A pointer and the pointers of all values around it, the root last. */
function outwards(pointer: string): readonly string[] {
  const parts = pointer.split('/')
  return parts.map((_, i) => parts.slice(0, parts.length - i).join('/'))
}
