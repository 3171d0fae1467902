import { bounds } from '../../../bounds.js'
import type { WriteStep } from '../../../storage.js'
import type { SqlDialect } from '../../sql/dialect.js'
import type { Inserts } from '../../sql/engine.js'
import type { ManyRecording } from '../log/recording.js'

/** Inserts the documents of several steps in one statement. */
export const createInsertMany =
  ({ table }: SqlDialect, recording?: ManyRecording) =>
  (steps: readonly WriteStep[], from: number, isSkipped: (place: number) => boolean): Inserts => {
    const collection = steps[from]?.in ?? ''
    const texts: string[] = []
    let size = 0
    let next = from
    for (let i = from; i < steps.length && size < bounds.insertedCharacters; i++) {
      const step = steps[i]
      if (isSkipped(i)) continue
      if (!step || step.in !== collection || !('insert' in step)) break
      const text = JSON.stringify(step.insert)
      texts.push(text)
      size += text.length
      next = i + 1
    }
    const text = `INSERT INTO ${table(collection)} (_id, document) SELECT document ->> '_id', document FROM jsonb_array_elements($1::text::jsonb) AS document`
    const insert = { text, values: [`[${texts.join(',')}]`] }
    return { ...(recording?.of(collection)?.insertMany(insert) ?? insert), next }
  }
