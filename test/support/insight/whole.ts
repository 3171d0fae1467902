import { fieldsOf, type Refusal } from './apply.js'
import {
  answerChosen,
  type CollectionJudge,
  type Ground,
  judgeCollection,
  refuse,
  type SmallAnswer,
} from './judge.js'
import {
  CALLERS,
  documentsOf,
  FIELDS,
  type FieldName,
  type Json,
  NOW,
  type SmallCaller,
  type SmallCollection,
  type SmallRequest,
  type SmallSchema,
  type Triple,
  VALUES,
} from './universe.js'
import { forEachCaller, type SmallRule } from './written-rules.js'

/**
 * Judges all triples of two collections with one schema. What all that the judge goes by has in common is asked once:
 * callers to whom every rule means the same, and updates of a document before which both configurations have rules
 * that mean the same.
 */

export interface Judged {
  readonly triple: Triple
  readonly was: SmallAnswer
  readonly is: SmallAnswer
}

interface Universe {
  readonly documents: readonly Json[]
  readonly requests: readonly SmallRequest[]
}

/** All triples whose answers may differ. Of an update's answer `shown` is left out. */
export function* judgeAll(
  pair: readonly [SmallCollection, SmallCollection],
  { documents, requests }: Universe,
): Generator<Judged> {
  const { schema } = pair[0]
  const judges = [judgeCollection(pair[0]), judgeCollection(pair[1])] as const
  const [before, after] = judges
  const meaningOf = createMeaning(schema, documents, judges)
  const updates = requests.filter(({ operation }) => operation === 'patch' || operation === 'put')
  const others = requests.filter((request) => !updates.includes(request))
  for (const caller of findCallers(judges, meaningOf)) {
    for (const request of others)
      for (const document of request.operation === 'create' ? documents.slice(0, 1) : documents)
        yield {
          triple: { caller, document, request },
          was: before.judge(caller, document, request),
          is: after.judge(caller, document, request),
        }
    for (const document of documents) {
      const [was, is] = [before.findGround(caller, document), after.findGround(caller, document)]
      if (meaningOf.ground(was) === meaningOf.ground(is)) continue
      const stored = fieldsOf(document)
      for (const request of updates)
        yield {
          triple: { caller, document, request },
          was: answerUpdate(before, was, { stored, request }),
          is: answerUpdate(after, is, { stored, request }),
        }
    }
  }
}

const answerUpdate = (
  { update }: CollectionJudge,
  ground: Ground | Refusal,
  { stored, request: { operation, body = {} } }: { readonly stored: Json; readonly request: SmallRequest },
): SmallAnswer =>
  'status' in ground
    ? refuse(ground, stored)
    : answerChosen(200, stored, update(ground, body, operation === 'put'))

/** What rules and grounds mean, as a text that is the same only where no answer can differ by them. */
interface Meaning {
  /** All but `where`. */
  readonly effect: (rule: SmallRule, caller: SmallCaller | null) => number
  readonly where: (rule: SmallRule, caller: SmallCaller | null) => number
  readonly ground: (ground: Ground | Refusal) => string
}

function createMeaning(
  schema: SmallSchema,
  documents: readonly Json[],
  judges: readonly CollectionJudge[],
): Meaning {
  const numbers = new Map<string, number>()
  const numberOf = (text: string): number => {
    const number = numbers.get(text) ?? numbers.size
    numbers.set(text, number)
    return number
  }
  const outcomesOf = forEachCaller((caller) => listOutcomes(schema, caller, judges))
  const holdsOn = (some: readonly Json[], holds: (document: Json) => boolean): number =>
    numberOf(some.map((document) => (holds(document) ? '1' : '0')).join(''))
  const effect = forEachRule((rule, caller) =>
    numberOf(
      JSON.stringify([
        NAMES.map((name) => rule.includes(name)),
        Object.entries(rule.set),
        rule.bind(caller) ?? null,
        holdsOn(outcomesOf(caller), rule.check(caller)),
      ]),
    ),
  )
  return {
    effect,
    where: forEachRule((rule, caller) => holdsOn(documents, rule.where(caller))),
    ground: (ground) =>
      'status' in ground
        ? `${ground.status}`
        : [
            ...ground.rules.map((rule) => effect(rule, ground.caller)),
            ...FIELDS.filter((name) => ground.sight.shows(name)),
          ].join(),
  }
}

const NAMES: readonly string[] = [...FIELDS, 'createdAt', 'updatedAt', 'createdBy']

function forEachRule(
  compute: (rule: SmallRule, caller: SmallCaller | null) => number,
): (rule: SmallRule, caller: SmallCaller | null) => number {
  const known = new Map<SmallRule, (caller: SmallCaller | null) => number>()
  return (rule, caller) => {
    const found = known.get(rule) ?? forEachCaller((one) => compute(rule, one))
    known.set(rule, found)
    return found(caller)
  }
}

/** All documents that a write of this caller may leave: of the values of documents and bodies, of `set` and defaults. */
function listOutcomes(
  schema: SmallSchema,
  caller: SmallCaller | null,
  judges: readonly CollectionJudge[],
): readonly Json[] {
  const rules = judges.flatMap(({ writersOf: { create, update } }) => [...create(caller), ...update(caller)])
  const valuesOf = (name: FieldName): readonly unknown[] => {
    const values = [
      ...VALUES[schema[name].type],
      schema[name].default,
      ...rules.map((rule) => rule.bind(caller)?.[name]),
    ]
    return [...new Map(values.map((value) => [JSON.stringify(value), value])).values()]
  }
  return documentsOf(schema, valuesOf).map((document) => ({ ...document, updatedAt: NOW }))
}

/** One of all callers to whom the same rules apply, which mean the same; never one with more roles than another. */
function findCallers(judges: readonly CollectionJudge[], meaning: Meaning): readonly (SmallCaller | null)[] {
  const alike = new Map<string, (SmallCaller | null)[]>()
  for (const caller of CALLERS) {
    const key = JSON.stringify([
      caller === null,
      judges.map(({ readersOf, writersOf }) =>
        [readersOf, writersOf.create, writersOf.update, writersOf.delete].map((rulesOf) =>
          rulesOf(caller).map((rule) => [meaning.effect(rule, caller), meaning.where(rule, caller)]),
        ),
      ),
    ])
    const known = alike.get(key) ?? []
    alike.set(key, known)
    const isCovered = known.some((one) => one?.roles.every((role) => caller?.roles.includes(role)) ?? true)
    if (!isCovered) known.push(caller)
  }
  return [...alike.values()].flat()
}
