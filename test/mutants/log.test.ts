import { describe, expect, test } from 'vitest'
import type { PlainChange } from '../../src/tools/testing/adapter/check/plain-log.js'
import { adapterCases, runCase } from '../../src/tools/testing/index.js'
import { createLoggedAdapter, type Entry, type LogParts, soundLog } from './array-log.js'
import { choose } from './choose.js'

/** Logs broken on purpose. The conformance kit has to notice each of them. */

const cases = adapterCases.filter(({ name }) => name.startsWith('log: '))

async function findFailing(broken: Partial<LogParts>): Promise<string | undefined> {
  for (const one of cases) {
    const adapter = createLoggedAdapter(broken)
    try {
      await runCase(one, async () => ({ connect: () => adapter, backUp: adapter.backUp }))
    } catch {
      return one.name
    }
  }
  return undefined
}

/** The place of the last change of the same document. */
const findFormer = (log: readonly Entry[], { in: name, id }: PlainChange): number =>
  log.findLastIndex((entry) => entry.in === name && entry.id === id)

const mutants: readonly (readonly [what: string, broken: Partial<LogParts>])[] = [
  ['a removal is not recorded', { record: (changes) => changes.filter(({ after }) => after) }],
  [
    'a removal is not recorded where it is one of several changes',
    { record: (changes) => (changes.length > 1 ? changes.filter(({ after }) => after) : changes) },
  ],
  [
    'what was there before is not recorded',
    { record: (changes) => changes.map((one) => ({ ...one, before: null })) },
  ],
  [
    'the changes of a write lie in the order of its steps',
    {
      record: (changes, steps) => {
        const ids = steps.flatMap((step) => ('insert' in step ? [step.insert._id] : []))
        return [...changes].sort((a, b) => ids.indexOf(a.id) - ids.indexOf(b.id))
      },
    },
  ],
  [
    'the changes of a write lie in the order of UTF-16',
    { record: (changes) => [...changes].sort((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)) },
  ],
  [
    'who has written is forgotten',
    { record: (changes) => changes.map((change) => ({ ...change, by: null })) },
  ],
  [
    'who has written is one for all writes',
    { record: (changes) => changes.map((change) => ({ ...change, by: 'ann' })) },
  ],
  ['two writes have one number', { number: (writes) => writes >> 1 }],
  [
    'a write that is refused is recorded',
    {
      record: (changes, steps, isOk) =>
        isOk
          ? changes
          : steps.flatMap((step) =>
              'insert' in step
                ? [{ in: step.in, id: step.insert._id, before: null, after: step.insert, by: null }]
                : [],
            ),
    },
  ],
  [
    'what a document was in the middle of a write is recorded',
    {
      record: (changes, steps) =>
        changes.flatMap((change) => {
          const [middle, ...others] = steps.flatMap((step) =>
            'replace' in step && step.in === change.in && step.replace._id === change.id
              ? [step.replace]
              : [],
          )
          if (!middle || others.length === 0) return [change]
          return [
            { ...change, after: middle },
            { ...change, before: middle },
          ]
        }),
    },
  ],
  [
    'what came and went in one write is recorded',
    {
      record: (changes, steps) => [
        ...changes,
        ...steps.flatMap((step) => {
          if (!('insert' in step) || changes.some(({ id }) => id === step.insert._id)) return []
          return step.in === 'things'
            ? [{ in: step.in, id: step.insert._id, before: null, after: null, by: null }]
            : []
        }),
      ],
    },
  ],
  [
    'what is to be left out is recorded',
    {
      record: (changes, steps) =>
        changes.map((change) => {
          const step = steps.find((step) => 'insert' in step && step.insert._id === change.id)
          return step && 'insert' in step ? { ...change, after: step.insert } : change
        }),
    },
  ],
  [
    'a second version comes before the first',
    {
      append: (log, changes) => {
        const [change] = changes
        const former = change && changes.length === 1 ? findFormer(log, change) : -1
        return former < 0 || former < log.length - 1
          ? [...log, ...changes]
          : log.toSpliced(former, 0, ...changes)
      },
    },
  ],
  [
    'a change appears behind a place that was read',
    {
      append: (log, changes) =>
        log.length % 7 === 6 ? log.toSpliced(log.length - 1, 0, ...changes) : [...log, ...changes],
    },
  ],
  ['a change is lost behind a full page', { goOn: (place, told) => place + told + (told === 7 ? 1 : 0) }],
  ['a change is told twice', { goOn: (place, told) => place + told - (told > 1 ? 1 : 0) }],
  ['a page is longer than asked for', { page: (behind) => behind }],
  ['a page that is full says that there is no more', { isMore: () => false }],
  [
    'every thirteenth change is lost',
    { append: (log, changes) => [...log, ...changes.filter((_, i) => i % 13 < 12)] },
  ],
  ['old changes never go', { countGone: () => 0 }],
  ['changes go at once', { countGone: (log) => log.length }],
  [
    'marks are not minded',
    { countGone: (log, _, times) => soundLog.countGone(log, Number.POSITIVE_INFINITY, times) },
  ],
  [
    'bytes are not minded',
    {
      countGone: (log, mark, times) =>
        soundLog.countGone(log, mark, { ...times, bytes: Number.POSITIVE_INFINITY }),
    },
  ],
  [
    'the newest goes beyond the bytes, too',
    {
      countGone: (log, mark, times) =>
        log.length < mark && JSON.stringify(log.at(-1) ?? 0).length > times.bytes
          ? log.length
          : soundLog.countGone(log, mark, times),
    },
  ],
  [
    'a mark keeps what lies before it',
    { countGone: (log, mark, times) => (mark < 9e9 ? 0 : soundLog.countGone(log, mark, times)) },
  ],
  ['a gap is not told', { isGap: () => false }],
  ['a change at the place of one that was undone counts as it', { isSame: () => true }],
  ['what is gone is not a gap', { isGap: (place) => place === undefined }],
]

const ofTheKit = (): string => '../../src/tools/testing/adapter/'

test('a log that is not broken passes every case', async () => {
  expect(cases.length).toBeGreaterThan(20)
  expect(await findFailing({})).toBeUndefined()
})

describe.each(choose(mutants, ofTheKit))('%s', (_, broken) => {
  test('fails a case', async () => expect(await findFailing(broken)).toBeDefined())
})
