import type * as EdgeValues from '../../src/tools/testing/adapter/check/edge-values.js'
import { isLong, isQuick } from './tier.js'

type Values = typeof EdgeValues

/**
 * The edge values with fewer of those that cases ask about: of `share` texts and numbers, the one at `place`. The documents
 * hold all of them. In memory, and everywhere in `npm run test:long`, cases ask about all.
 */
export function fewerOperands(real: Values, place: number, share = isQuick ? 16 : 4): Values {
  if (isLong) return real
  const isAsked = (value: unknown): boolean =>
    typeof value === 'boolean' || real.scalars.indexOf(value as never) % share === place
  return {
    ...real,
    scalars: real.scalars.filter(isAsked),
    operandsOf: (type) => real.operandsOf(type).filter(isAsked),
  }
}
