import type { Field } from '../../fields/field-type.js'
import { compilePath } from '../../json/own-properties.js'
import type { BodyValidator } from '../../schema/validator.js'

/** Facts about a document beside the demands on it. */
export interface Situation {
  readonly paths: ReadonlyMap<string, Field>
  readonly validate: BodyValidator
  /** Paths whose value is known, with everything inside; `undefined` is a missing value. */
  readonly fixed?: ReadonlyMap<string, unknown>
  /** Paths of objects that exist, but are known only in part. */
  readonly there?: ReadonlySet<string>
  /** Top-level names that the document may lack although they are required. */
  readonly lacking?: ReadonlySet<string>
  /** Whether a variable has no value, as `$user` for anonymous callers. */
  readonly isLacking?: (variable: string) => boolean
}

/** The value at a path, if it or an object around it is known. */
export function findKnown(path: string, { fixed }: Situation): { readonly value: unknown } | undefined {
  const names = path.split('.')
  for (let depth = names.length; fixed && depth > 0; depth--) {
    const around = names.slice(0, depth).join('.')
    if (fixed.has(around)) {
      const inner = ['known', ...names.slice(depth)].join('.')
      return { value: compilePath(inner)({ known: fixed.get(around) }) }
    }
  }
  return undefined
}
