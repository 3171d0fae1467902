import { expect, test } from 'vitest'
import { createSqliteAdapter } from '../../src/adapters/sqlite/sqlite-adapter.js'
import type * as HoldOrStream from '../../src/core/documents/read/hold-or-stream.js'
import { checkFraming, framedLists } from '../support/framing-laws.js'
import { choose } from './choose.js'
import { createMutant, fails, type Mutant } from './create-mutant.js'

/** Answers that are held or streamed by what is read, not by what is shown: what guards the real ones has to notice. */

const HOLD_OR_STREAM = '../../src/core/documents/read/hold-or-stream.js'

const breakPieces =
  (documentsOf: (documents: number) => number) => async (original: () => Promise<unknown>) => {
    const real = (await original()) as typeof HoldOrStream
    const holdOrStream: typeof real.holdOrStream = (call, work) =>
      real.holdOrStream(call, (current, write, slices) =>
        work(current, (text, documents = 0) => write(text, documentsOf(documents)), slices),
      )
    return { ...real, holdOrStream }
  }

const mutants: readonly Mutant[] = [
  [
    'what was not read together is streamed, however short',
    HOLD_OR_STREAM,
    breakPieces(() => Number.POSITIVE_INFINITY),
  ],
  [
    'fewer documents are held than are read at once',
    HOLD_OR_STREAM,
    breakPieces((documents) => documents * 2),
  ],
]

/** A storage that reads large documents apart. */
const createAdapter = () => createSqliteAdapter({ file: ':memory:' })

const checkAll = async (mutant: Mutant): Promise<void> => {
  const create = await createMutant(mutant)
  for (const list of framedLists) await checkFraming({ create, createAdapter }, list)
}

test('the real answers, taken through the same hands, pass', () =>
  checkAll(['nothing is broken', HOLD_OR_STREAM, breakPieces((documents) => documents)]))

test.each(choose(mutants))('%s: noticed', async (...mutant) => {
  expect(await fails(checkAll(mutant))).toBe(true)
})
