import type { StoredDocument, WriteStep } from '../../../storage.js'
import { eq, fieldOf, ID } from '../check/documents.js'
import { applyPlainly } from '../check/plain-write.js'
import type { Random } from './random.js'

/** Steps on the collection of a store; `in` is ignored. */
export type RandomWrite = readonly WriteStep[]

const VERSION = fieldOf('_version', 'integer')

const WRITES = 12
const MOST_STEPS = 8

/** No random store has documents with these ids. */
const NEW = ['+', '+1', '+2'] as const

/** An `_id` that no write creates. */
export const NOBODY = '?'

/** Draws a step, mostly with an existing document and its version. */
export function drawStep(random: Random, documents: ReadonlyMap<string, StoredDocument>): WriteStep {
  const present = random.pick([...documents.keys(), NEW[0]])
  const fresh = random.pick(NEW)
  const id = random.chance(0.9) ? present : fresh
  const version = (documents.get(id)?._version ?? 1) + (random.chance(0.85) ? 0 : random.pick([-1, 1]))
  const step = random.pick<() => WriteStep>([
    () => ({ in: '', require: id, version }),
    () => ({ in: '', require: id, version }),
    () => ({ in: '', require: id }),
    () => ({
      in: '',
      require: id,
      ...(random.chance(0.5) ? { version: version + random.pick([0, 0, 1]) } : {}),
      where: { kind: random.pick(['eq', 'gte', 'lte']), field: VERSION, value: version },
    }),
    () => ({ in: '', insert: { _id: random.chance(0.9) ? fresh : present, _version: random.integer(1, 3) } }),
    () => ({ in: '', replace: { _id: id, _version: version + 1 }, version }),
    () => ({ in: '', remove: eq(ID, id), ...(random.chance(0.5) ? { expect: 1 } : {}) }),
    () => ({ in: '', refuse: eq(ID, fresh) }),
  ])
  return step()
}

/** Draws writes whose steps mostly succeed, one after another. */
export function drawWrites(random: Random, documents: readonly StoredDocument[]): readonly RandomWrite[] {
  return Array.from({ length: WRITES }, () => {
    const left = new Map(documents.map((document) => [document._id, document]))
    const steps: WriteStep[] = []
    for (let isRefused = false; !isRefused && steps.length < MOST_STEPS; ) {
      const step = drawStep(random, left)
      steps.push(step)
      isRefused = applyPlainly(left, step) !== undefined
    }
    return steps
  })
}
