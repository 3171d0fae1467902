import type { Field } from '../../fields/field-type.js'
import { compilePath } from '../../json/own-properties.js'
import type { BodyValidator } from '../../schema/validator.js'

/** What is known of a document beside what is demanded of it. */
export interface Situation {
  readonly paths: ReadonlyMap<string, Field>
  readonly validate: BodyValidator
  /** Paths whose value is known, with all inside it; `undefined` stands for a missing one. */
  readonly fixed?: ReadonlyMap<string, unknown>
  /** Paths of objects of which only a part is known, but that they are there. */
  readonly there?: ReadonlySet<string>
  /** Top-level names that the document may lack though they are required. */
  readonly lacking?: ReadonlySet<string>
  /** Whether a variable stands for nothing, as `$user` for the anonymous. */
  readonly isLacking?: (variable: string) => boolean
}

/** The value at a path, where it, or one around it, is known. */
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
