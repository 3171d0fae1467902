import type * as EdgeValues from '../../src/testing/adapter/check/edge-values.js'
import { isLong, isQuick } from './tier.js'

type Values = typeof EdgeValues

/** One in so many of the texts and numbers that documents are compared with is asked about. */
const SHARE = isQuick ? 16 : 4

/**
 * The edge values with a share of those that cases ask about; all of them stand in the documents as before. In memory, and
 * everywhere in `npm run test:long`, all are asked about.
 */
export function fewerOperands(real: Values, place: number): Values {
  if (isLong) return real
  const isAsked = (value: unknown): boolean =>
    typeof value === 'boolean' || real.scalars.indexOf(value as never) % SHARE === place
  return {
    ...real,
    scalars: real.scalars.filter(isAsked),
    operandsOf: (type) => real.operandsOf(type).filter(isAsked),
  }
}
