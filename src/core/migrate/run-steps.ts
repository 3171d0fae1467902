import type { Collection, ServicePlan } from '../config/plan.js'
import { ConfigError } from '../errors.js'
import { suggest } from '../fields/schema/names.js'
import { everything, isId } from '../filter/filter.js'
import { isEqualJson } from '../json/equality.js'
import { toPointerPart } from '../json/pointer.js'
import type { Call } from '../request/call.js'
import type { WriteFailure } from '../request/store/attempt.js'
import type { StoredDocument } from '../storage.js'
import { listFills, type StoredName } from '../stored/record/describe-names.js'
import { findStorable, LINE_COUNTS, type ProcessLine } from '../stored/record/process-lines.js'
import {
  beginProgress,
  type CollectionPlace,
  forgetProgress,
  Progress,
  storeErasing,
} from '../stored/record/progress.js'
import { listErased, SCHEMA } from '../stored/record/schema-record.js'
import type { MaybePromise, MigrateDocument, Migrations } from '../types.js'
import { eraseNames } from './erase.js'
import { fillDocument } from './fill.js'
import type { Fixed, FixedDocument, Wrong } from './fix.js'
import { migrateDocument } from './migrate-document.js'
import { formDocument, listForms } from './normal-form.js'
import type { Turn } from './turn.js'
import { findLast, type RunStorage, TurnLost, type Walk, walk, walkAgain } from './walk.js'

/** The maximum number of `_id`s of documents that failed in one step. A migration stops at its place after so many. */
const MAX_IDS = 1000

/** The result of one step of a run, or of a dry run. */
export interface MigrateStep {
  /** `<collection>.<field>`, or the name of a migration. */
  readonly name: string
  readonly collection: string
  /** The dotted path of the field, or the stored name that is erased; absent for a migration. */
  readonly field?: string
  readonly kind: 'fill' | 'form' | 'migration' | 'erase'
  /** The number of documents that were changed or removed, or for which others were made. */
  readonly done: number
  /** The number of documents that could not be changed. Each of them is as it was. */
  readonly failed: number
  /** The first 1,000 `_id`s of these documents. */
  readonly ids: readonly string[]
}

/** The progress of a step: `of` is the number of documents in its collection. */
export interface MigrateProgress extends Pick<MigrateStep, 'name' | 'collection' | 'done'> {
  readonly of: number
}

/** A document that a step could not change. */
export interface MigrateFailure extends Pick<MigrateStep, 'name' | 'collection'> {
  readonly id: string
  /** The reason. It may contain what a migration threw, and so values of the document. */
  readonly reason: string
}

/** The input of the steps of a run. */
export interface Run {
  /** The storage by declared names. */
  readonly adapter: RunStorage
  readonly turn: Turn
  readonly isDry: boolean
  readonly signal: AbortSignal
  /** A call with full rights. */
  readonly call: Call
  /** The code of migrations. */
  readonly migrations: Migrations
  onProgress(progress: MigrateProgress): void
  onFailed(failure: MigrateFailure): void
  /** Called when all documents of a collection have the values of `fill` in some fields. */
  onFilled(collection: Collection, names: readonly StoredName[]): Promise<void>
  /** Returns the migrations that are finished, also by another runner. */
  listFinished(): Promise<readonly string[]>
  /** The clock of the run. */
  readonly now: () => number
  /** Returns the lines of the processes that may read or write during the run. */
  listLines(): Promise<readonly ProcessLine[]>
  /** Called when a migration is finished. */
  onFinished(migration: string): Promise<void>
  /** Whether the run erases. */
  readonly isErasing: boolean
  /** Returns the names whose values were erased (see `eraseKey`). */
  listErased(): Promise<readonly string[]>
  /** Called when the values of names are erased. */
  onErased(keys: readonly string[]): Promise<void>
}

interface Kind {
  readonly kind: Exclude<MigrateStep['kind'], 'migration'>
  readonly listNames: (collection: Collection) => readonly StoredName[]
  readonly fix: (collection: Collection, document: StoredDocument) => FixedDocument
}

/** The steps for fields, in order: each walks through all documents of a collection once, for all its fields. */
const KINDS: readonly Kind[] = [
  { kind: 'fill', listNames: listFills, fix: fillDocument },
  { kind: 'form', listNames: listForms, fix: formDocument },
]

/**
 * Runs the steps that stored documents need, then the migrations that are not finished, then what is to be erased. Returns
 * the first that changed a document or failed, and all the others up to the first migration that cannot be finished. Throws `ConfigError` if a migration has
 * no code.
 */
export async function runSteps(run: Run, plan: ServicePlan): Promise<readonly MigrateStep[]> {
  const collections = [...plan.collections.values()]
  const finished = await run.listFinished()
  const unfinished = plan.migrations.filter((name) => !finished.includes(name))
  requireCode(run.migrations, unfinished, plan)
  const steps: MigrateStep[] = []
  for (const kind of KINDS)
    for (const collection of collections) {
      const found = kind.listNames(collection)
      if (found.length === 0) continue
      const names = found.map(({ field }) => field.path)
      const done = await runStep(run, { ...kind, collection, names })
      steps.push(...done)
      const isComplete = (path: string): boolean =>
        done.some(({ field, failed }) => field === path && failed === 0)
      if (kind.kind === 'fill')
        await run.onFilled(
          collection,
          found.filter(({ field }) => isComplete(field.path)),
        )
    }
  const needed = steps.filter(({ done, failed }) => done + failed > 0)
  for (const name of unfinished) {
    await beginMigration(run, name, `/migrations/${plan.migrations.indexOf(name)}`)
    const migrated = await runMigration(run, name, collections)
    needed.push(...migrated)
    if (migrated.some(({ failed }) => failed > 0)) return needed
    await run.onFinished(name)
  }
  if (run.isErasing) needed.push(...(await eraseAll(run, collections)))
  return needed
}

/** Erases what the configuration lists and no run has erased. */
async function eraseAll(run: Run, collections: readonly Collection[]): Promise<readonly MigrateStep[]> {
  const erased = await run.listErased()
  const left = collections.filter((collection) => listErased(collection).some((key) => !erased.includes(key)))
  if (left.length === 0) return []
  const keys = left.flatMap(listErased)
  await beginErasing(run, left, keys)
  const steps: MigrateStep[] = []
  for (const collection of left) {
    const { erase: names } = collection
    steps.push(...(await runStep(run, { kind: 'erase', collection, names, fix: eraseNames })))
  }
  if (steps.every(({ failed }) => failed === 0)) await run.onErased(keys)
  return steps
}

/** As `beginMigration`: throws `ConfigError` if a process serves that can store one of the names. */
async function beginErasing(
  { turn, isDry, listLines, now }: Run,
  collections: readonly Collection[],
  keys: readonly string[],
): Promise<void> {
  if (isDry) return
  if (!(await turn.write(storeErasing(keys)))?.ok) throw new TurnLost()
  const others = (await listLines()).filter((line) => findStorable(line, keys) !== undefined)
  if (others.length === 0) return
  await turn.write(storeErasing([]))
  const faults = collections.map(({ name }) => ({
    path: `/collections${toPointerPart(name)}/erase`,
    message: `cannot run while processes serve that may store these names: ${describeLines(others, now())}`,
  }))
  throw new ConfigError(faults, 'Nothing can be erased now')
}

/**
 * Stores that a migration has begun, so that processes without it do not start or resume, and then looks for those that
 * serve. Each process stores its line before it looks, so one of the two sees the other. Throws `ConfigError` if there are
 * any.
 */
async function beginMigration(run: Run, name: string, path: string): Promise<void> {
  const { turn, isDry } = run
  if (isDry) return
  await turn.take()
  if ((await run.listFinished()).includes(name)) return
  const isNew = !(await readProgress(run, name)).hasBegun
  if (isNew && !(await turn.write([beginProgress(name)]))?.ok) return beginMigration(run, name, path)
  const others = (await run.listLines()).filter(({ migrations }) => !migrations.includes(name))
  if (others.length === 0) return
  // The others go on until they end, so a later run begins it.
  if (isNew) await turn.write([forgetProgress(name)])
  const message = `${JSON.stringify(name)} cannot run while processes without it serve: ${describeLines(others, run.now())}`
  throw new ConfigError([{ path, message }], 'The migration cannot run now')
}

/** Reads the progress of a migration, which only the runner that has the turn changes. */
const readProgress = ({ adapter }: Run, name: string): Promise<Progress> =>
  Progress.read(name, async (id) => {
    const [found] = await adapter.list(SCHEMA, { filter: isId(id), sort: [], skip: 0, limit: 1 })
    return found
  })

const secondsOf = (milliseconds: number): string => {
  const seconds = Math.max(0, Math.ceil(milliseconds / 1000))
  return `${seconds} ${seconds === 1 ? 'second' : 'seconds'}`
}

/** Describes processes that prevent a step, and for how long. */
export function describeLines(lines: readonly ProcessLine[], now: number): string {
  const each = lines.map(({ pid, at }) => {
    const seen = `seen ${secondsOf(now - at)} ago`
    return pid === null ? `a process, ${seen}` : `process ${pid}, ${seen}`
  })
  const left = Math.max(...lines.map(({ at }) => at + LINE_COUNTS - now))
  return `${each.join('; ')}. End them first; a process that was killed counts for another ${secondsOf(left)}`
}

/** Throws `ConfigError` if a migration that is to run has no code, or that of an unknown collection. */
function requireCode(
  migrations: Migrations,
  unfinished: readonly string[],
  { collections, migrations: listed }: ServicePlan,
): void {
  const stored = Array.from(collections.values(), ({ storedName }) => storedName)
  const faults = unfinished.flatMap((name) => {
    const code = Object.hasOwn(migrations, name) ? migrations[name] : undefined
    const path = `/migrations/${listed.indexOf(name)}`
    if (!code) return [{ path, message: `${JSON.stringify(name)} has to run, and its code is missing` }]
    return Object.keys(code.collections).flatMap((one) =>
      stored.includes(one)
        ? []
        : [
            {
              path,
              message: `${JSON.stringify(name)} has code for ${JSON.stringify(one)}, which is not the stored name of a collection${suggest(one, stored)}`,
            },
          ],
    )
  })
  if (faults.length > 0) throw new ConfigError(faults)
}

interface Step extends Pick<Kind, 'kind' | 'fix'> {
  readonly collection: Collection
  /** The paths of the fields, or the stored names. */
  readonly names: readonly string[]
}

/** The counts of a step, or of one of its fields. */
interface Counts {
  done: number
  failed: number
  ids: string[]
}

async function runStep(run: Run, { kind, collection, names, fix }: Step): Promise<readonly MigrateStep[]> {
  const { name } = collection
  const counts = new Map<string, Counts>(names.map((path) => [path, NO_COUNTS()]))
  const of = await run.adapter.count(name, everything, { signal: run.signal })
  const given: Walk = {
    ...run,
    collection: name,
    fix(before) {
      const { document, ...fixed } = fix(collection, before)
      const replace = { ...document, _version: before._version + 1 }
      const steps = document === before ? [] : [{ in: name, replace, version: before._version }]
      return { before, steps, ...fixed }
    },
    explain: ({ fields }, failure) => {
      const field = findUnique(names, fields, failure.fields)
      return { ...(field === undefined ? {} : { field }), reason: explainFailure(failure) }
    },
    onWritten(written) {
      for (const [field, count] of counts) {
        const { length } = written.filter(({ fields }) => fields.has(field))
        if (length === 0) continue
        count.done += length
        run.onProgress({ name: `${name}.${field}`, collection: name, done: count.done, of })
      }
    },
    onFailed({ before: { _id: id } }, { field = '', reason }) {
      const count = counts.get(field)
      if (!count) return
      noteFailed(count, id)
      run.onFailed({ name: `${name}.${field}`, collection: name, id, reason })
    },
  }
  await untilTurnIsKept(run, async () => {
    for (const count of counts.values()) Object.assign(count, { failed: 0, ids: [] })
    const last = await findLast(run.adapter, name)
    if (last !== undefined) await walk(given, { after: '', last })
  })
  return Array.from(counts, ([field, count]) => ({
    name: `${name}.${field}`,
    collection: name,
    field,
    kind,
    ...count,
  }))
}

const NO_COUNTS = (): Counts => ({ done: 0, failed: 0, ids: [] })

function noteFailed(count: Counts, id: string): void {
  count.failed += 1
  if (count.ids.length < MAX_IDS) count.ids.push(id)
}

/** Does work again from its place if another runner has taken the turn meanwhile. */
async function untilTurnIsKept({ signal }: Run, work: () => Promise<void>): Promise<void> {
  for (;;) {
    signal.throwIfAborted()
    try {
      return await work()
    } catch (cause) {
      if (!(cause instanceof TurnLost)) throw cause
    }
  }
}

/** Returns the changed field that is in a unique index. */
function findUnique(
  names: readonly string[],
  changed: ReadonlySet<string>,
  unique: readonly string[] = [],
): string | undefined {
  const others = names.filter((path) => changed.has(path))
  return others.find((path) => unique.includes(path)) ?? others[0]
}

/** Returns the reason why a write of a document failed. */
function explainFailure({ reason, fields = [] }: WriteFailure): string {
  if (reason !== 'unique') return REASONS[reason]
  return fields[0] === '_id'
    ? 'the _id of a document to be made is taken'
    : `another document has the same value of ${fields.join(' and ')}`
}

const REASONS: { readonly [reason in Exclude<WriteFailure['reason'], 'unique'>]: string } = {
  missing: 'it would refer to a document that does not exist',
  changed: 'a reference would no longer match its target',
  found: 'other documents refer to it',
}

/** Runs a migration in all its collections. */
async function runMigration(
  run: Run,
  name: string,
  collections: readonly Collection[],
): Promise<readonly MigrateStep[]> {
  const steps: MigrateStep[] = []
  for (const [stored, migrate] of Object.entries(run.migrations[name]?.collections ?? {})) {
    const collection = collections.find(({ storedName }) => storedName === stored)
    if (!collection) continue
    const counts = await migrateCollection(run, { name, collection, migrate })
    steps.push({ name, collection: collection.name, kind: 'migration', ...counts })
  }
  return steps
}

interface OneMigration {
  readonly name: string
  readonly collection: Collection
  readonly migrate: MigrateDocument
}

async function migrateCollection(run: Run, { name, collection, migrate }: OneMigration): Promise<Counts> {
  const { adapter, turn, call } = run
  const { name: declared, storedName } = collection
  const of = await adapter.count(declared, everything, { signal: run.signal })
  let done = 0
  const failed = new Set<string>()
  await untilTurnIsKept(run, async () => {
    // Only the runner that has the turn knows how far the migration has come.
    await turn.take()
    if ((await run.listFinished()).includes(name)) return
    const progress = await readProgress(run, name)
    const start: CollectionPlace = progress.at(storedName) ?? {
      after: '',
      last: (await findLast(adapter, declared)) ?? '',
      failed: [],
      isDone: false,
    }
    failed.clear()
    /** The documents that failed in an earlier run, and have not been tried again yet. */
    const untried = new Set(start.failed)
    let { after } = start
    let moved = (): void => {}
    const placeOf = (written: readonly Fixed[], isDone = false): CollectionPlace => {
      const gone = new Set(written.map(({ before }) => before._id))
      const left = [...untried, ...failed].filter((id) => !gone.has(id))
      return { after, last: start.last, failed: [...new Set(left)], isDone }
    }
    const given: Walk = {
      ...run,
      collection: declared,
      fix: (before) => migrateDocument({ call, collection, migrate, last: start.last }, before),
      beside(written, looked) {
        after = looked
        const move = progress.move(storedName, placeOf(written))
        moved = move.moved
        return [move.step]
      },
      explain: (_, failure): Wrong => ({ reason: explainFailure(failure) }),
      onWritten(written) {
        moved()
        for (const { before } of written) untried.delete(before._id)
        done += written.length
        run.onProgress({ name, collection: declared, done, of })
      },
      onFailed({ before: { _id: id } }, { reason }) {
        failed.add(id)
        run.onFailed({ name, collection: declared, id, reason })
      },
    }
    await walkAgain(given, start.failed, start.after)
    untried.clear()
    const isOver = (): boolean => failed.size >= MAX_IDS
    let looked = start.after
    const fix = (before: StoredDocument): MaybePromise<Fixed> => {
      if (before._id > looked) looked = before._id
      return given.fix(before)
    }
    if (!start.isDone) await walk({ ...given, fix, isOver }, start)
    const isDone = start.isDone || !isOver()
    after = isDone ? start.last : looked
    const end = placeOf([], isDone)
    if (isEqualJson(end, progress.at(storedName))) return
    const { step, moved: ended } = progress.move(storedName, end)
    if (!(await turn.write([step]))?.ok) throw new TurnLost()
    ended()
  })
  return { done, failed: failed.size, ids: [...failed] }
}
