import type { AdapterCase } from './adapter-case.js'
import { atomicCases } from './atomic-cases.js'
import { bytesCases } from './bytes-cases.js'
import { filterCases } from './filter-cases.js'
import { hostileCases } from './hostile-cases.js'
import { orderCases } from './order-cases.js'
import { patternCases } from './pattern-cases.js'
import { raceCases } from './race-cases.js'
import { reopenCases } from './reopen-cases.js'
import { safetyCases } from './safety-cases.js'
import { stepCases } from './step-cases.js'
import { streamCases } from './stream-cases.js'
import { uniqueCases } from './unique-cases.js'

/** Everything that an adapter must do, but for the random queries of `fuzzAdapter`. */
export const adapterCases: readonly AdapterCase[] = [
  ...stepCases,
  ...uniqueCases,
  ...atomicCases,
  ...raceCases,
  ...reopenCases,
  ...hostileCases,
  ...safetyCases,
  ...orderCases,
  ...streamCases,
  ...bytesCases,
  ...filterCases,
  ...patternCases,
]
