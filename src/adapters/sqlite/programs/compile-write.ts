import { type FieldRef, type Filter, ID, isId, or } from '../../../core/filter/filter.js'
import type { StoredDocument, WriteResult, WriteStep } from '../../../core/storage.js'
import type { Statement } from '../../sql/dialect.js'
import { filterConflicting } from '../../sql/find-taken.js'
import { programEngine } from './program-engine.js'
import type { ProgramRecording } from './program-log.js'
import { filterOf, type SurveyedStep } from './survey.js'

const { statements } = programEngine

/** The fields of the unique indexes of each collection, in the order of their creation. */
export type UniqueIndexes = ReadonlyMap<string, readonly (readonly FieldRef[])[]>

/** Why a statement was refused: the result of the write, or `overtaken` if documents changed since they were read. */
export type Refusal = Extract<WriteResult, { readonly ok: false }> | 'overtaken'

type Reason = Omit<Extract<WriteResult, { readonly ok: false }>, 'ok' | 'step'>

/** A statement of a write. */
export interface WriteStatement {
  readonly statement: Statement
  readonly expect?: number | undefined
  /** The result if the statement returns or changes another number of rows than expected. */
  readonly refusal?: Refusal
  /** Whether the statement removes documents, which the result of the write counts. */
  readonly isRemoval?: boolean
}

/** Everything besides its steps that the statements of a write depend on. */
export interface WriteContext {
  readonly surveyed: ReadonlyMap<number, SurveyedStep>
  readonly recording: ProgramRecording | undefined
  /**
   * If given, the values of unique indexes are read before each document is written, so that the first index that
   * rejects it is known.
   */
  readonly unique: UniqueIndexes | undefined
}

/** A statement that returns one row. With `expect` 0, it always fails. */
const ONE: Statement = { text: 'SELECT 1', values: [] }

/** Returns the statements of a write, in order. */
export function compileWrite(steps: readonly WriteStep[], context: WriteContext): readonly WriteStatement[] {
  const { surveyed, recording } = context
  const guards = [...surveyed.values()].flatMap((step) => step.guards)
  const plain = (statement: Statement): WriteStatement => ({ statement })
  return [
    ...guards.map((guard): WriteStatement => ({ ...guard, refusal: 'overtaken' })),
    ...(recording?.begin ?? []).map(plain),
    ...steps.flatMap((step, place) => compileStep(step, place, context)),
    ...(recording?.end ?? []).map(plain),
  ]
}

function compileStep(step: WriteStep, place: number, context: WriteContext): readonly WriteStatement[] {
  const { in: collection } = step
  const recorder = context.recording?.of(collection)
  const surveyed = context.surveyed.get(place)
  const expecting = (statement: Statement, expect: number, reason: Reason): WriteStatement => ({
    statement,
    expect,
    refusal: { ok: false, step: place, ...reason },
  })
  const isFree = (document: StoredDocument, isNew: boolean): readonly WriteStatement[] =>
    conflictsOf(collection, document, isNew, context.unique).map(([filter, fields]) =>
      expecting(selectOne(collection, filter), 0, { reason: 'unique', fields }),
    )
  const changing = (
    recorded: readonly Statement[] | undefined,
    statement: Statement,
    rest: Omit<WriteStatement, 'statement'>,
  ): readonly WriteStatement[] => {
    const all = recorded ?? [statement]
    return all.map((one, i) => (i === all.length - 1 ? { ...rest, statement: one } : { statement: one }))
  }
  if ('insert' in step) {
    const { insert } = step
    const statement = statements.insert(collection, insert)
    return [...isFree(insert, true), ...changing(recorder?.insert(insert), statement, {})]
  }
  if ('replace' in step) {
    const { replace, version } = step
    const changed = { reason: 'changed' } as const
    const current = statements.current(collection, replace._id, version)
    const statement = statements.replace(collection, replace, version)
    return [
      ...(context.unique ? [expecting(current, 1, changed)] : []),
      ...isFree(replace, false),
      ...changing(recorder?.replace(replace, version), statement, expecting(statement, 1, changed)),
    ]
  }
  if ('remove' in step) {
    const statement = statements.remove(collection, surveyed ? or(surveyed.ids.map(isId)) : step.remove)
    const { expect } = step
    const isExpected = expect === undefined ? {} : expecting(statement, expect, { reason: 'changed' })
    return changing(recorder?.remove(statement), statement, { ...isExpected, isRemoval: true })
  }
  if ('require' in step) {
    const { require: id, version } = step
    const exists = expecting(selectOne(collection, isId(id)), 1, { reason: 'missing' })
    const changed = { reason: 'changed' } as const
    const isCurrent =
      version === undefined ? [] : [expecting(statements.current(collection, id, version), 1, changed)]
    return [exists, ...isCurrent, ...matching(1, changed)]
  }
  return matching(0, { reason: 'found' })

  /** Returns the statement that fails unless the filter of the step matches some (1) or no document (0). */
  function matching(expect: number, reason: Reason): readonly WriteStatement[] {
    const filter = filterOf(step)
    if (!filter) return []
    if (!surveyed) return [expecting(selectOne(collection, filter), expect, reason)]
    return surveyed.ids.length > 0 === expect > 0 ? [] : [expecting(ONE, 0, reason)]
  }
}

/** Selects the `_id` of one document that matches. */
const selectOne = (collection: string, filter: Filter): Statement =>
  statements.ids(collection, { filter, sort: [], skip: 0, limit: 1 })

/** Returns a filter for the documents that conflict with a document, for each unique index, in their order. */
function conflictsOf(
  collection: string,
  document: StoredDocument,
  isNew: boolean,
  unique: UniqueIndexes | undefined,
): readonly (readonly [conflicting: Filter, fields: readonly string[]])[] {
  if (!unique) return []
  const ofIndexes = (unique.get(collection) ?? []).flatMap((fields) => {
    const conflicting = filterConflicting(fields, document)
    return conflicting ? [[conflicting, fields.map(({ path }) => path)] as const] : []
  })
  return [...(isNew ? [[isId(document._id), [ID.path]] as const] : []), ...ofIndexes]
}
