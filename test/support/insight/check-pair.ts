import { expect } from 'vitest'
import { comparePermissions } from '../../../src/tools/insight/diff/compare-permissions.js'
import type { Difference, PermissionDifference } from '../../../src/tools/insight/diff/types.js'
import type { Random } from '../../../src/tools/testing/adapter/fuzz/random.js'
import { isEqual } from './apply.js'
import { createSmallHandler } from './ask-handler.js'
import { fillAll, markFilled } from './filled.js'
import { createJudge, type SmallAnswer } from './judge.js'
import type { Pair } from './pairs.js'
import {
  CALLERS,
  COLLECTIONS,
  type CollectionName,
  documentsOf,
  FIELDS,
  type Json,
  OPERATIONS,
  requestsOf,
  type SmallCaller,
  type SmallConfig,
  type SmallOperation,
  type SmallRequest,
  type Triple,
} from './universe.js'
import { type Judged, judgeAll } from './whole.js'

/** What is asked of a pair beside the comparison itself. */
export interface Asked {
  readonly random: Random
  /** How many triples are judged; absent: all of them. */
  readonly triples?: number
  /** Whether the handlers themselves run the witnesses, or else the judge. */
  readonly byHandlers: boolean
  readonly hasPatterns?: boolean
  /** Whether hooks fill all that is required; then the judge runs the witnesses. */
  readonly isFilled?: boolean
  /** Another build of the comparison: a mutant. */
  readonly compare?: typeof comparePermissions
}

/** One thing that two answers do not have in common: a name, or the whole answer (`''`). */
export interface Apart {
  readonly name: string
  /** Absent where the kind is not told by the answers alone. */
  readonly kind?: PermissionDifference['kind']
}

type Answer = (
  caller: SmallCaller | null,
  document: Json,
  request: SmallRequest,
) => SmallAnswer | Promise<SmallAnswer>

/**
 * The laws of `comparePermissions` on one pair: every difference of the judged triples is named, every witness shows
 * its difference, nothing is reported on a pair that means the same, and nothing stays undecided. Returns how many
 * differences were found.
 */
export async function checkPair(written: Pair, asked: Asked): Promise<number> {
  const { before, after } = written
  const { compare = comparePermissions, isFilled = false } = asked
  const hooks = isFilled ? { hooks: fillAll(before) } : {}
  const differences = compare(before, after, { authenticate: true, ...hooks })
  const pair = isFilled ? { ...written, before: markFilled(before), after: markFilled(after) } : written
  const context = JSON.stringify({ before, after })
  if (pair.kind === 'same') expect({ context, differences }).toEqual({ context, differences: [] })
  if (!asked.hasPatterns) expect(differences.filter(({ kind }) => kind === 'undecided')).toEqual([])
  await checkWitnesses(pair, differences, asked.byHandlers)

  const seen = new Set<string>()
  for (const { triple, was, is } of judgeTriples(pair, asked)) {
    const { collection, operation } = triple.request
    for (const apart of findApart(operation, was, is)) {
      // What is named once is named whenever the same callers see it.
      const key = [collection, operation, triple.caller?.roles ?? 'nobody', apart.name, apart.kind].join(' ')
      if (seen.has(key)) continue
      if (!isNamed(differences, triple, apart))
        expect({ context, triple, apart, was, is }).toEqual('a difference that is named')
      seen.add(key)
    }
  }
  return differences.length
}

function* judgeTriples({ before, after }: Pair, { random, triples }: Asked): Generator<Judged> {
  const [judge, judgeAfter] = [createJudge(before), createJudge(after)]
  for (const name of COLLECTIONS) {
    const { documents, requests } = universeOf(name, before)
    if (triples === undefined) {
      yield* judgeAll([before.collections[name], after.collections[name]], { documents, requests })
      continue
    }
    const byOperation = OPERATIONS.map((one) => requests.filter(({ operation }) => operation === one))
    for (let i = 0; i < triples / COLLECTIONS.length; i++) {
      const request = random.pick(random.pick(byOperation))
      const [caller, document] = [random.pick(CALLERS), random.pick(documents)]
      const [was, is] = [judge(caller, document, request), judgeAfter(caller, document, request)]
      yield { triple: { caller, document, request }, was, is }
    }
  }
}

const universes = new Map<string, { documents: readonly Json[]; requests: readonly SmallRequest[] }>()

/** All documents and requests; few schemas have others than those before them. */
function universeOf(name: CollectionName, { collections }: SmallConfig) {
  const { schema } = collections[name]
  const key = JSON.stringify([name, FIELDS.map((field) => [schema[field].type, schema[field].nullable])])
  const known = universes.get(key) ?? { documents: documentsOf(schema), requests: requestsOf(name, schema) }
  universes.set(key, known)
  return known
}

const isGranted = ({ status }: SmallAnswer): boolean => status < 400

/** What two answers to one request do not have in common. */
export function findApart(operation: SmallOperation, was: SmallAnswer, is: SmallAnswer): readonly Apart[] {
  if (isGranted(was) !== isGranted(is)) return [{ name: '', kind: isGranted(is) ? 'widening' : 'narrowing' }]
  if (!isGranted(was))
    return was.status === is.status && isEqual(was.errors, is.errors) ? [] : [{ name: '', kind: 'changed' }]
  if (operation === 'read') {
    const [shown, shows] = [was.shown ?? {}, is.shown ?? {}]
    const names = new Set([...Object.keys(shown), ...Object.keys(shows)])
    return [...names].flatMap((name): Apart[] =>
      Object.hasOwn(shown, name) === Object.hasOwn(shows, name)
        ? []
        : [{ name, kind: Object.hasOwn(shows, name) ? 'widening' : 'narrowing' }],
    )
  }
  return FIELDS.flatMap((name): Apart[] => {
    const isStored = isEqual(was.stored?.[name], is.stored?.[name])
    return isStored && was.ignored.includes(name) === is.ignored.includes(name) ? [] : [{ name }]
  })
}

/** Whether a difference is about what two answers do not have in common. */
export const isAbout = (difference: PermissionDifference, { name, kind }: Apart): boolean =>
  (name === '' ? difference.fields.length === 0 : difference.fields.includes(name)) &&
  (kind === undefined || kind === difference.kind)

/** Whether a difference is reported, for this caller or for one with fewer roles. */
const isNamed = (differences: readonly Difference[], { caller, request }: Triple, apart: Apart): boolean =>
  differences.some((difference) => {
    if (difference.kind === 'undecided' && difference.collection === request.collection) return true
    if (!('witness' in difference)) return false
    const { roles } = difference
    const isSeen = roles === null || (caller !== null && roles.every((role) => caller.roles.includes(role)))
    const { collection, operation } = request
    return (
      difference.collection === collection &&
      difference.operation === operation &&
      isSeen &&
      isAbout(difference, apart)
    )
  })

async function checkWitnesses(
  { before, after }: Pair,
  differences: readonly Difference[],
  byHandlers: boolean,
): Promise<void> {
  if (differences.length === 0) return
  const holdsOthers = differences.some((one) => 'witness' in one && one.stale)
  const handlers = byHandlers
    ? await Promise.all([before, after].map((one) => createSmallHandler(one, { holdsOthers })))
    : []
  const [ask = createJudge(before), askAfter = createJudge(after)] = handlers.map((one): Answer => one.ask)
  for (const difference of differences) {
    if (!('witness' in difference)) continue
    const { caller, documents, request } = difference.witness
    const name = difference.collection as CollectionName
    const document: Json = documents[name]?.[0] ?? {}
    const asked: SmallRequest = {
      collection: name,
      operation: difference.operation,
      ...(request.body ? { body: request.body } : {}),
    }
    const was = await ask(caller, document, asked)
    const is = await askAfter(caller, document, asked)
    const isShown = findApart(difference.operation, was, is).some((apart) => isAbout(difference, apart))
    if (!isShown)
      expect({ before, after, difference, was, is }).toEqual('a witness that shows its difference')
  }
  await Promise.all(handlers.map((one) => one.close()))
}
