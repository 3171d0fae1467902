import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type * as NarrowRows from '../../src/adapters/sqlite/narrow-rows.js'
import type * as BoundedList from '../../src/adapters/sqlite/programs/bounded-list.js'
import type * as CompileWrite from '../../src/adapters/sqlite/programs/compile-write.js'
import type * as D1 from '../../src/adapters/sqlite/programs/d1.js'
import type * as DurableObject from '../../src/adapters/sqlite/programs/durable-object.js'
import type * as FitFilter from '../../src/adapters/sqlite/programs/fit-filter.js'
import type * as OverBatch from '../../src/adapters/sqlite/programs/over-batch.js'
import type * as OverSession from '../../src/adapters/sqlite/programs/over-session.js'
import type { ProgramDriver } from '../../src/adapters/sqlite/programs/program-driver.js'
import type * as ProgramLog from '../../src/adapters/sqlite/programs/program-log.js'
import type * as Survey from '../../src/adapters/sqlite/programs/survey.js'
import { everything } from '../../src/core/filter/filter.js'
import type { StorageAdapter } from '../../src/index.js'
import { adapterCases, runCase } from '../../src/tools/testing/index.js'
import { createD1Database, createObjectStorage } from '../support/program-databases.js'
import { checkProgramLaws } from '../support/program-laws.js'
import { closing, newFile } from '../support/program-storages.js'
import { choose } from './choose.js'
import { fails, loadMutant, type Mutant } from './create-mutant.js'

/** Programs of statements that are broken on purpose: the laws of patterns, and the cases of the kit, have to notice each of them. */

const FOLDER = '../../src/adapters/sqlite/programs'

const change =
  <T>(break_: (real: T) => Partial<T>) =>
  async (original: () => Promise<unknown>) => {
    const real = (await original()) as T
    return { ...real, ...break_(real) }
  }

/** A driver whose programs expect nothing. */
const expectNothing = (driver: ProgramDriver): ProgramDriver => ({
  ...driver,
  write: (program) => driver.write(program.map(({ text, values }) => ({ text, values }))),
})

/** The statements of a write but for some of them. */
const leaveOut = (isLeftOut: (text: string) => boolean) =>
  change<typeof CompileWrite>(({ compileWrite }) => ({
    compileWrite: (steps, context) =>
      compileWrite(steps, context).filter(({ statement }) => !isLeftOut(statement.text)),
  }))

/** The statements that read documents in parts, but changed. */
const changePart = (changed: (...given: Parameters<typeof BoundedList.boundPage>) => typeof given) =>
  change<typeof BoundedList>(({ boundPage }) => ({
    boundPage: (...given) => boundPage(...changed(...given)),
  }))

const COMMON: readonly Mutant[] = [
  [
    'a document that changed before its part is read counts as the same',
    `${FOLDER}/bounded-list.js`,
    changePart((page, ...rest) => [page.replace(/ AND [^?]* = named\.value ->> 1/, ''), ...rest]),
  ],
  [
    'an aggregate has values that its caller does not see',
    '../../src/adapters/sqlite/narrow-rows.js',
    change<typeof NarrowRows>(({ foldNarrowRows }) => ({
      foldNarrowRows: ({ measures, ...query }, ...rest) =>
        foldNarrowRows(
          { ...query, measures: measures.map((one) => ({ ...one, shown: everything })) },
          ...rest,
        ),
    })),
  ],
  [
    'a part has any number of bytes',
    `${FOLDER}/bounded-list.js`,
    changePart((page, order, bounds) => [page, order, { ...bounds, bytes: '1e12' }]),
  ],
  [
    'a filter that no statement can evaluate counts as exact',
    `${FOLDER}/fit-filter.js`,
    change<typeof FitFilter>(({ fitFilter }) => ({
      fitFilter: (...given) => ({ ...fitFilter(...given), isExact: true }),
    })),
  ],
  [
    'documents that a pattern may match are not evaluated before a write',
    `${FOLDER}/survey.js`,
    change<typeof Survey>(() => ({
      surveySteps: async () => new Map(),
    })),
  ],
  [
    'earlier steps of a write are not seen by a pattern',
    `${FOLDER}/survey.js`,
    change<typeof Survey>(({ surveySteps }) => ({
      async surveySteps(driver, steps) {
        const alone = await Promise.all(
          steps.map(async (step, place) => [place, (await surveySteps(driver, [step])).get(0)] as const),
        )
        return new Map(alone.flatMap(([place, one]) => (one ? [[place, one] as const] : [])))
      },
    })),
  ],
  [
    'a write is not recorded',
    `${FOLDER}/compile-write.js`,
    leaveOut((text) => /^INSERT INTO "_log" .*(?:before|after)/.test(text)),
  ],
  [
    'a removal does not count',
    `${FOLDER}/compile-write.js`,
    change<typeof CompileWrite>(({ compileWrite }) => ({
      compileWrite: (...given) => compileWrite(...given).map(({ isRemoval: _, ...one }) => one),
    })),
  ],
  [
    'the row with the number of a write stays in the log',
    `${FOLDER}/program-log.js`,
    change<typeof ProgramLog>(({ ProgramLog }) => ({
      ProgramLog: class extends ProgramLog {
        override record(...given: Parameters<ProgramLog.ProgramLog['record']>) {
          const recording = super.record(...given)
          return (
            recording && { ...recording, end: recording.end.filter(({ text }) => !text.startsWith('DELETE')) }
          )
        }
      } as typeof ProgramLog,
    })),
  ],
]

async function runAll(create: (file: string) => StorageAdapter, isKept: boolean): Promise<void> {
  for (const one of adapterCases)
    await runCase(one, async () => {
      const folder = mkdtempSync(join(tmpdir(), 'collection-service-mutants-'))
      const file = join(folder, 'data.db')
      const kept = isKept ? create(file) : undefined
      return {
        connect: () => kept ?? create(file),
        destroy: async () => rmSync(folder, { recursive: true }),
      }
    })
}

describe('on D1', () => {
  const run = async (mutant: Mutant): Promise<void> => {
    const { createD1Adapter } = await loadMutant<typeof D1>(mutant, () => import(`${FOLDER}/d1.js`))
    await checkProgramLaws(createD1Adapter, newFile)
    await runAll((file) => closing(createD1Database(file), createD1Adapter), false)
  }

  test.each(
    choose<Mutant>([
      ...COMMON,
      [
        'statements expect nothing',
        `${FOLDER}/over-batch.js`,
        change<typeof OverBatch>(({ overBatch }) => ({
          overBatch: (engine) => expectNothing(overBatch(engine)),
        })),
      ],
      [
        'documents that change after they were evaluated are not noticed',
        `${FOLDER}/survey.js`,
        change<typeof Survey>(({ surveySteps }) => ({
          surveySteps: async (...given) =>
            new Map(
              [...(await surveySteps(...given))].map(([place, one]) => [place, { ...one, guards: [] }]),
            ),
        })),
      ],
    ]),
  )('%s: noticed', async (...mutant) => {
    expect(await fails(run(mutant))).toBe(true)
  })
})

describe('on a Durable Object', () => {
  const run = async (mutant: Mutant): Promise<void> => {
    const { createDurableObjectAdapter } = await loadMutant<typeof DurableObject>(
      mutant,
      () => import(`${FOLDER}/durable-object.js`),
    )
    await runAll((file) => closing(createObjectStorage(file), createDurableObjectAdapter), true)
  }

  test.each(
    choose<Mutant>([
      [
        'statements expect nothing',
        `${FOLDER}/over-session.js`,
        change<typeof OverSession>(({ overSession }) => ({
          overSession: (session) => expectNothing(overSession(session)),
        })),
      ],
      [
        'a program is not rolled back',
        `${FOLDER}/over-session.js`,
        change<typeof OverSession>(({ overSession }) => ({
          overSession: (session) =>
            overSession({
              ...session,
              transact(work) {
                return work()
              },
            }),
        })),
      ],
    ]),
  )('%s: noticed', async (...mutant) => {
    expect(await fails(run(mutant))).toBe(true)
  })
})
