import { and, type Filter, isId } from '../../../core/filter/filter.js'
import { compileJudge, judgeSliced } from '../../../core/filter/matches.js'
import { forEachSliced, inSlices, type Slices } from '../../../core/slices.js'
import type { StoredDocument, WriteStep } from '../../../core/storage.js'
import type { Statement } from '../../sql/dialect.js'
import { parseDocument } from '../../sql/read/judge-texts.js'
import { fitFilter } from './fit-filter.js'
import type { ProgramDriver } from './program-driver.js'
import { programEngine, writeAround } from './program-engine.js'
import { readRows } from './read-rows.js'

const { dialect, statements } = programEngine

/** A statement, and the number of rows that it must return or change. */
export interface Expected {
  readonly statement: Statement
  readonly expect: number
}

/** A step whose filter was evaluated before the program, because no statement can. */
export interface SurveyedStep {
  /** The ids of the documents that match, as the earlier steps of the write leave them. */
  readonly ids: readonly string[]
  /** The statements that fail if the documents that may match have changed since. */
  readonly guards: readonly Expected[]
}

/** Returns the filter of a step, also for the document that a `require` step names. */
export function filterOf(step: WriteStep): Filter | undefined {
  if ('remove' in step) return step.remove
  if ('refuse' in step) return step.refuse
  return 'require' in step && step.where ? and([isId(step.require), step.where]) : undefined
}

/** Evaluates the filters that no statement can evaluate. Returns the results by the index of the step. */
export async function surveySteps(
  driver: ProgramDriver,
  steps: readonly WriteStep[],
): Promise<ReadonlyMap<number, SurveyedStep>> {
  const surveyed = new Map<number, SurveyedStep>()
  for (const [place, step] of steps.entries()) {
    const filter = filterOf(step)
    const fitted = filter && fitFilter(filter, driver.limits)
    if (!fitted || fitted.isExact) continue
    const query = { filter: fitted.filter, sort: [], skip: 0, limit: null }
    const texts = (await readRows(driver, statements.list(step.in, query))).map(String)
    const earlier = steps.slice(0, place).filter((one) => one.in === step.in)
    const documents = new Map<string, StoredDocument>()
    const survey = await inSlices(async (slices) => {
      await forEachSliced(slices, texts, (text) => {
        const document = parseDocument(text, slices)
        documents.set(document._id, document)
      })
      const guards = guardsOf(step.in, fitted.filter, [...documents.values()])
      for (const one of earlier) await applyTo(documents, one, slices)
      return { ids: await findMatches(documents, filter, slices), guards }
    })
    surveyed.set(place, survey)
  }
  return surveyed
}

/** Applies an earlier step of the write to the documents that may match. */
async function applyTo(
  documents: Map<string, StoredDocument>,
  step: WriteStep,
  slices: Slices,
): Promise<void> {
  if ('insert' in step) documents.set(step.insert._id, step.insert)
  else if ('replace' in step) documents.set(step.replace._id, step.replace)
  else if ('remove' in step)
    for (const id of await findMatches(documents, step.remove, slices)) documents.delete(id)
}

async function findMatches(
  documents: ReadonlyMap<string, StoredDocument>,
  filter: Filter,
  slices: Slices,
): Promise<readonly string[]> {
  const judge = compileJudge(filter)
  const ids: string[] = []
  for (const document of documents.values()) {
    if (await judgeSliced(judge, document, slices)) ids.push(document._id)
    if (slices.left <= 0) await slices.next()
  }
  return ids
}

/** The maximum number of documents that one guard names. */
const GUARDED = 1000

const KEY = `_id || ' ' || ${dialect.storedVersion}`

/** Returns the statements that fail unless exactly these documents, in these versions, match a filter. */
function guardsOf(
  collection: string,
  filter: Filter,
  documents: readonly StoredDocument[],
): readonly Expected[] {
  const all = statements.ids(collection, { filter, sort: [], skip: 0, limit: null })
  const guards = [{ statement: { text: all.text, values: all.values }, expect: documents.length }]
  for (let i = 0; i < documents.length; i += GUARDED) {
    const keys = documents.slice(i, i + GUARDED).map(({ _id, _version }) => `${_id} ${_version}`)
    const found = statements.select(collection, filter, {}, (from) => `SELECT _id, document ${from}`)
    const statement = writeAround(
      found,
      (text, bind) => `SELECT _id FROM (${text}) WHERE ${dialect.isOneOf(KEY, keys, bind)}`,
    )
    guards.push({ statement, expect: keys.length })
  }
  return guards
}
