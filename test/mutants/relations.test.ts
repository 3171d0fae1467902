import { describe, expect, test } from 'vitest'
import type { ReadAccess } from '../../src/permissions/read-gate.js'
import type * as CompileExpand from '../../src/query/compile-expand.js'
import type { Call } from '../../src/service/call.js'
import type * as ExpandDocuments from '../../src/service/read/expand-documents.js'
import type * as ExpandLevels from '../../src/service/read/expand-levels.js'
import { checkNonInterference, RELATED } from '../support/laws.js'
import { createMutant, fails, type Mutant } from './create-mutant.js'

/** Relations broken on purpose: the laws have to notice each of them. */

const READ = '../../src/service/read'

/** What a printer needs of a call, with other accesses: those of the n-th question, counted from 1. */
const withAccess = (
  call: Call,
  change: (access: ReadAccess, question: number, name: string) => ReadAccess,
) => {
  const { service, deadline, store } = call
  let questions = 0
  const other: Pick<Call, 'service' | 'deadline' | 'store' | 'learnToRead' | 'access'> = {
    ...{ service, deadline, store },
    learnToRead: (collection) => call.learnToRead(collection),
    access(collection) {
      questions += 1
      const access = call.access(collection)
      return access && change(access, questions, collection.name)
    },
  }
  return other as Call
}

type Change = Parameters<typeof withAccess>[1]

const breakLevels = (change: Change) => async (original: () => Promise<unknown>) => {
  const real = (await original()) as typeof ExpandLevels
  const createLevelPrinter: typeof real.createLevelPrinter = (call, expansions) =>
    real.createLevelPrinter(withAccess(call, change), expansions)
  return { ...real, createLevelPrinter }
}

const breakOneLevel = (change: Change) => async (original: () => Promise<unknown>) => {
  const real = (await original()) as typeof ExpandDocuments
  const createExpandingPrinter: typeof real.createExpandingPrinter = (call, expansions) =>
    real.createExpandingPrinter(withAccess(call, change), expansions)
  return { ...real, createExpandingPrinter }
}

const everyRow = (access: ReadAccess): ReadAccess => ({
  ...access,
  paths: access.paths,
  standing: access.standing,
  restrict: (asked) => asked,
})
const everyField = (access: ReadAccess): ReadAccess => {
  const show: ReadAccess['show'] = ({ _version, ...document }) => document as ReturnType<ReadAccess['show']>
  const write: ReadAccess['write'] = (document) => JSON.stringify(show(document))
  return { ...access, paths: access.paths, standing: access.standing, show, write }
}

/** An expand that judges names in other ways. */
const breakNames =
  (change: (following: CompileExpand.Following) => CompileExpand.Following) =>
  async (original: () => Promise<unknown>) => {
    const real = (await original()) as typeof CompileExpand
    const compileExpand: typeof real.compileExpand = (paths, reading, following) =>
      real.compileExpand(paths, reading, change(following))
    return { ...real, compileExpand }
  }

const expandMutants: readonly Mutant[] = [
  [
    'from the second level on, hidden documents are shown',
    `${READ}/expand-levels.js`,
    breakLevels((access, question) => (question > 1 ? everyRow(access) : access)),
  ],
  [
    'on the third level, hidden fields are shown',
    `${READ}/expand-levels.js`,
    breakLevels((access, question) => (question > 2 ? everyField(access) : access)),
  ],
  [
    'who created something is shown past the gate of users',
    `${READ}/expand-documents.js`,
    breakOneLevel((access, _, name) => (name === 'users' ? everyRow(access) : access)),
  ],
  [
    'who created something is shown past the gate of users, behind another reference',
    `${READ}/expand-levels.js`,
    breakLevels((access, _, name) => (name === 'users' ? everyField(everyRow(access)) : access)),
  ],
  [
    'a name behind a reference is judged where it does not lie',
    '../../src/query/compile-expand.js',
    breakNames(({ readable, ...following }) => ({
      targetOf: (field) => following.targetOf(field),
      readable: (name) => readable(name === 'users' ? 'people' : name),
    })),
  ],
]

test('the real ones pass, taken through the same hands', async () => {
  const create = await createMutant([
    'nothing is broken',
    `${READ}/expand-levels.js`,
    breakLevels((access) => ({ ...access, paths: access.paths, standing: access.standing })),
  ])
  await checkNonInterference(8, create, undefined, RELATED)
})

describe('expand', () => {
  test.each(expandMutants)('%s: noticed', async (...mutant) => {
    const create = await createMutant(mutant)
    expect(await fails(checkNonInterference(200, create, undefined, RELATED))).toBe(true)
  })
})
