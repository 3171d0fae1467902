import type { AdapterCase } from './adapter-case.js'
import { atomicCases } from './cases/atomic-cases.js'
import { bytesCases } from './cases/bytes-cases.js'
import { elementCases } from './cases/element-cases.js'
import { filterCases } from './cases/filter-cases.js'
import { groupCases } from './cases/group-cases.js'
import { hostileCases } from './cases/hostile-cases.js'
import { linkedCases } from './cases/linked-cases.js'
import { keepCases, restoreCases } from './cases/log/keep-cases.js'
import { logRaceCases, readCases } from './cases/log/read-cases.js'
import { recordCases } from './cases/log/record-cases.js'
import { orderCases } from './cases/order-cases.js'
import { patternCases } from './cases/pattern-cases.js'
import { lookRaceCases, raceCases } from './cases/race/race-cases.js'
import { wholeCases } from './cases/race/whole-cases.js'
import { reopenCases } from './cases/reopen-cases.js'
import { requireCases } from './cases/require-cases.js'
import { safetyCases } from './cases/safety-cases.js'
import { snapshotCases } from './cases/snapshot-cases.js'
import { stateCases } from './cases/state-cases.js'
import { stepCases } from './cases/step-cases.js'
import { streamCases } from './cases/stream-cases.js'
import { uniqueCases, uniqueValueCases } from './cases/unique-cases.js'

/** All requirements for an adapter, except for the random queries of `fuzzAdapter`. */
export const adapterCases: readonly AdapterCase[] = [
  ...stepCases,
  ...uniqueValueCases,
  ...uniqueCases,
  ...atomicCases,
  ...requireCases,
  ...raceCases,
  ...lookRaceCases,
  ...wholeCases,
  ...recordCases,
  ...readCases,
  ...keepCases,
  ...restoreCases,
  ...logRaceCases,
  ...reopenCases,
  ...hostileCases,
  ...safetyCases,
  ...orderCases,
  ...streamCases,
  ...stateCases,
  ...snapshotCases,
  ...linkedCases,
  ...bytesCases,
  ...filterCases,
  ...groupCases,
  ...elementCases,
  ...patternCases,
]
