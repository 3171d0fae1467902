import { ServiceError } from '../errors.js'
import { boundBytes } from '../json/bound-bytes.js'
import { countBytes } from '../schema/json-schema.js'

/** Counts the bytes of JSON that work may take together. */
export interface ByteBudget {
  /** Throws `document_too_large` beyond the budget. */
  take(value: object | string): void
}

/** Creates a budget. The exact count is made only where a rough one could be beyond. */
export function createByteBudget(most: number, detail: string): ByteBudget {
  /** What was not yet counted exactly. */
  let rough: (object | string)[] = []
  let bound = 0
  let counted = 0
  return {
    take(value) {
      rough.push(value)
      bound += boundBytes(value)
      if (counted + bound <= most) return
      for (const one of rough) counted += countBytes(typeof one === 'string' ? one : JSON.stringify(one))
      rough = []
      bound = 0
      if (counted > most) throw new ServiceError('document_too_large', detail)
    },
  }
}
