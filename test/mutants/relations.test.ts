import { describe, expect, test } from 'vitest'
import type * as ExpandDocuments from '../../src/core/documents/expand/expand-documents.js'
import type { Draft } from '../../src/core/documents/write/draft.js'
import type { ReadAccess } from '../../src/core/permissions/read-gate.js'
import type * as CompileExpand from '../../src/core/query/compile-expand.js'
import type { Following } from '../../src/core/query/reading.js'
import type * as Matches from '../../src/core/references/matches.js'
import type * as References from '../../src/core/references/references.js'
import type * as UnsetReferences from '../../src/core/references/unset-references.js'
import type { Call } from '../../src/core/request/call.js'
import type { WriteStep } from '../../src/core/storage.js'
import { checkNonInterference, RELATED } from '../support/laws.js'
import { RELATED_WRITES } from '../support/related-writes.js'
import { checkWrites } from '../support/write-laws.js'
import { choose } from './choose.js'
import { createMutant, fails, type Mutant } from './create-mutant.js'

/** Relations broken on purpose: the laws have to notice each of them. */

/** What a printer needs of a call, with other accesses: those of the n-th question, counted from 1. */
const withAccess = (
  call: Call,
  change: (access: ReadAccess, question: number, name: string) => ReadAccess,
) => {
  const { service, deadline, store } = call
  let questions = 0
  const other: Pick<Call, 'service' | 'deadline' | 'store' | 'learnToRead' | 'access'> = {
    service,
    deadline,
    store,
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

const EXPAND_DOCUMENTS = '../../src/core/documents/expand/expand-documents.js'

const breakExpand = (change: Change) => async (original: () => Promise<unknown>) => {
  const real = (await original()) as typeof ExpandDocuments
  const printExpanded: typeof real.printExpanded = (call, ...others) =>
    real.printExpanded(withAccess(call, change), ...others)
  return { ...real, printExpanded }
}

const everyRow = (access: ReadAccess): ReadAccess => ({
  ...access,
  restrict: (asked) => asked,
})
const everyField = (access: ReadAccess): ReadAccess => {
  const show: ReadAccess['show'] = ({ _version, ...document }) => document as ReturnType<ReadAccess['show']>
  const write: ReadAccess['write'] = (document) => JSON.stringify(show(document))
  return { ...access, show, write }
}

/** An expand that judges names in other ways. */
const breakNames =
  (change: (following: Following) => Following) => async (original: () => Promise<unknown>) => {
    const real = (await original()) as typeof CompileExpand
    const compileExpand: typeof real.compileExpand = (paths, reading) =>
      real.compileExpand(paths, { ...reading, following: change(reading.following) })
    return { ...real, compileExpand }
  }

const expandMutants: readonly Mutant[] = [
  [
    'from the second level on, hidden documents are shown',
    EXPAND_DOCUMENTS,
    breakExpand((access, question) => (question > 1 ? everyRow(access) : access)),
  ],
  [
    'on the third level, hidden fields are shown',
    EXPAND_DOCUMENTS,
    breakExpand((access, question) => (question > 2 ? everyField(access) : access)),
  ],
  [
    'who created something is shown past the gate of users',
    EXPAND_DOCUMENTS,
    breakExpand((access, _, name) => (name === 'users' ? everyRow(access) : access)),
  ],
  [
    'who created something is shown past the gate of users, behind another reference',
    EXPAND_DOCUMENTS,
    breakExpand((access, _, name) => (name === 'users' ? everyField(everyRow(access)) : access)),
  ],
  [
    'a name behind a reference is judged where it does not lie',
    '../../src/core/query/compile-expand.js',
    breakNames(({ readable, ...following }) => ({
      targetOf: (field) => following.targetOf(field),
      readable: (name) => readable(name === 'users' ? 'people' : name),
    })),
  ],
]

/** The functions of a module, some of them broken. */
const replacing =
  <T extends object>(break_: (real: T) => Partial<T>) =>
  async (original: () => Promise<unknown>) => {
    const real = (await original()) as T
    return { ...real, ...break_(real) }
  }

/** What takes references away, with other steps. */
const breakUnset = (
  change: (steps: readonly WriteStep[], call: Call) => readonly WriteStep[] | Promise<readonly WriteStep[]>,
) =>
  replacing<typeof UnsetReferences>((real) => ({
    async planUnset(call, cascade, count) {
      const { steps, agreements } = await real.planUnset(call, cascade, count)
      return { steps: await change(steps, call), agreements }
    },
  }))

const isReplace = (step: WriteStep): step is Extract<WriteStep, { readonly replace: unknown }> =>
  'replace' in step

/** The stage of matches, which judges in another way. */
const judging = (judge: (draft: Draft, real: () => void) => void) =>
  replacing<typeof Matches>(({ match }) => ({
    match: { ...match, judge: (draft) => void judge(draft, () => match.judge?.(draft)) },
  }))

const writeMutants: readonly Mutant[] = [
  [
    'a match is left out of updates',
    '../../src/core/references/matches.js',
    replacing<typeof Matches>(({ match }) => ({
      match: {
        ...match,
        judge: (draft) => (draft.before ? undefined : match.judge?.(draft)),
        guard: (versions, conditions) => versions.before || match.guard?.(versions, conditions),
      },
    })),
  ],
  [
    'what is stored beside what is named counts as new',
    '../../src/core/references/matches.js',
    judging((draft, judge) => {
      const { unseen, fields } = draft
      draft.unseen = new Map(Array.from(unseen.keys(), (name) => [name, fields[name]]))
      judge()
      draft.unseen = unseen
    }),
  ],
  [
    'a match is judged on the document as its caller sees it',
    '../../src/core/references/matches.js',
    judging((draft, judge) => {
      const { before, fields } = draft
      const shown = Object.entries(fields).filter(([name]) => !before || draft.isShown(name))
      draft.fields = Object.fromEntries(shown)
      judge()
      draft.fields = fields
    }),
  ],
  [
    'a match is judged on the target as its caller sees it',
    '../../src/core/references/references.js',
    replacing<typeof References>(({ references }) => ({
      references: {
        ...references,
        async read(write, bodies) {
          await references.read?.(write, bodies)
          const { referable, call } = write
          write.referable = (reference) => {
            const access = call.access({ name: reference.collection })
            const values = Object.entries(referable(reference) ?? {}).filter(([name]) => access?.find(name))
            return referable(reference) && Object.fromEntries(values)
          }
        },
      },
    })),
  ],
  [
    'a mismatch says what the target holds',
    '../../src/core/references/matches.js',
    judging((draft, judge) => {
      const { faults, write } = draft
      const { referable } = write
      let held: unknown
      write.referable = (reference) => {
        const target = referable(reference)
        held = target
        return target
      }
      judge()
      write.referable = referable
      draft.faults = draft.faults.map((fault) =>
        faults.includes(fault) ? fault : { ...fault, message: `${fault.message} ${JSON.stringify(held)}` },
      )
    }),
  ],
  [
    'a change of a target forgets who refers to it',
    '../../src/core/references/matches.js',
    replacing<typeof Matches>(({ match }) => ({
      match: {
        ...match,
        guard(versions, conditions) {
          const planned: typeof conditions = { steps: [], agreements: [] }
          match.guard?.(versions, planned)
          conditions.agreements.push(...planned.agreements.filter(({ key }) => !key.includes('"<"')))
        },
      },
    })),
  ],
  [
    'what may not be read keeps its references',
    '../../src/core/references/unset-references.js',
    breakUnset((steps, call) =>
      steps.filter((step) => !isReplace(step) || call.access({ name: step.in })?.isReadable(step.replace)),
    ),
  ],
  [
    'what loses a reference keeps its time',
    '../../src/core/references/unset-references.js',
    breakUnset((steps) =>
      steps.map((step) =>
        isReplace(step)
          ? { ...step, replace: { ...step.replace, updatedAt: '2025-01-01T00:00:00.000Z' } }
          : step,
      ),
    ),
  ],
  [
    'what loses nothing is a new version too',
    '../../src/core/references/unset-references.js',
    breakUnset(async (steps, call) => {
      const all = await call.store.own('things').list({})
      const others = all.filter(({ _id }) =>
        steps.every((step) => isReplace(step) && step.replace._id !== _id),
      )
      const renewed = others.map((one): WriteStep => {
        const replace = { ...one, _version: one._version + 1 }
        return { in: 'things', replace, version: one._version }
      })
      return [...steps, ...renewed]
    }),
  ],
]

test('the real ones pass, taken through the same hands', async () => {
  const create = await createMutant([
    'nothing is broken',
    EXPAND_DOCUMENTS,
    breakExpand((access) => ({ ...access })),
  ])
  await checkNonInterference(8, create, undefined, RELATED)
  const unbroken = await createMutant([
    'nothing is broken',
    '../../src/core/references/unset-references.js',
    breakUnset((steps) => steps),
  ])
  await checkWrites(10, { create: unbroken }, RELATED_WRITES)
})

describe('expand', () => {
  test.each(choose(expandMutants))('%s: noticed', async (...mutant) => {
    const create = await createMutant(mutant)
    expect(await fails(checkNonInterference(200, create, undefined, RELATED))).toBe(true)
  })
})

describe('match and unset', () => {
  test.each(choose(writeMutants))('%s: noticed', async (...mutant) => {
    const create = await createMutant(mutant)
    expect(await fails(checkWrites(200, { create }, RELATED_WRITES))).toBe(true)
  })
})
