import type { Value } from '../../sql/dialect.js'
import { type Batch, type BatchWork, createBatch } from '../connection/batch.js'
import { explain, isLost, unavailable } from '../faults.js'

/** A query that is read with different values. `together` receives each distinct list of values once. */
type SharedQuery<Result> = Omit<BatchWork<readonly Value[], Result>, 'leaving'>

/** Creates a reader that answers simultaneous queries with one statement. Equal queries share a result. */
export const createAskTogether = <Result>({
  together,
  ...asked
}: SharedQuery<Result>): Batch<readonly Value[], Result> =>
  createBatch({
    ...asked,
    leaving: unavailable,
    async together(all, shared) {
      const distinct: (readonly Value[])[] = []
      const known = new Map<string, number>()
      const places = all.map((values) => {
        const key = JSON.stringify(values)
        const place = known.get(key) ?? distinct.push(values) - 1
        known.set(key, place)
        return place
      })
      const results = await together(distinct, shared).catch((thrown: unknown) => {
        throw isLost(thrown) ? explain(thrown) : thrown
      })
      return places.map((place) => results[place])
    },
  })
