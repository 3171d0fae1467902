import { expect, test } from 'vitest'
import { checkConfig, type Finding } from '../../src/tools/insight/index.js'
import { createRandom, type Random } from '../../src/tools/testing/adapter/fuzz/random.js'
import { fillAll, markFilled } from '../support/insight/filled.js'
import { createJudge, type Judge, judgeCollection } from '../support/insight/judge.js'
import { randomConfig, randomRule } from '../support/insight/random-config.js'
import {
  bodiesOf,
  CALLERS,
  COLLECTIONS,
  type CollectionName,
  documentsOf,
  FIELDS,
  type Json,
  type SmallConfig,
  type SmallRequest,
  type SmallSchema,
} from '../support/insight/universe.js'
import { isLong, perRound, rounds, seedOf } from '../support/tier.js'

// CONTRACT.md §8, "Check": each finding is sure. Where all callers, documents and requests can be asked, none contradicts it.

const CONFIGS = rounds(30, 2000)
/** The number of configurations with rules for strangers. */
const OPENED = rounds(30, 500)
/** The most documents that are tried with each body, and without one. */
const TRIED = isLong ? { update: 12, other: 1000 } : { update: 2, other: 40 }

type Operation = 'create' | 'read' | 'update' | 'delete'

/** Where a finding stands. */
interface Place {
  readonly name: CollectionName
  readonly subject: string
  readonly operation: Operation
  /** The index in an array of rules. */
  readonly index?: number
}

/** The rules that a finding is about: those of the grant, where it stands at a grant of `true`. */
function placesOf(config: SmallConfig, { pointer }: Finding): readonly Place[] {
  const [, , name, part, subject = '', operation, at] = pointer.split('/')
  const collection = COLLECTIONS.find((one) => one === name)
  if (!collection || part !== 'permissions') return []
  const grant = config.collections[collection].permissions[subject]
  const operations = OPERATIONS.filter((one) =>
    operation === undefined
      ? typeof grant !== 'object' || one === 'create' || one === 'read'
      : one === operation,
  )
  const index = at === undefined ? undefined : Number(at)
  return operations.map((one) => ({
    name: collection,
    subject,
    operation: one,
    ...(index !== undefined && Number.isInteger(index) ? { index } : {}),
  }))
}

/** The other rules of an array than the one at a place; for a rule that is alone, `false`. */
const withoutRule = (rule: unknown, { index }: Place): unknown => {
  const others = Array.isArray(rule) ? rule.filter((_, i) => i !== index) : []
  return others.length > 0 ? others : false
}

const onlyRule = (rule: unknown, { index }: Place): unknown =>
  Array.isArray(rule) && index !== undefined ? rule[index] : rule

const OPERATIONS: readonly Operation[] = ['create', 'read', 'update', 'delete']

/** The grant of a subject, by operation. */
function spell(grant: unknown): Json {
  if (typeof grant === 'boolean') return Object.fromEntries(OPERATIONS.map((one) => [one, grant]))
  const { pick, omit, ...rules } = grant as Json
  const plain = { ...(pick ? { pick } : {}), ...(omit ? { omit } : {}) }
  return pick || omit ? { read: true, create: plain } : rules
}

/** The same configuration with other rules for an operation. */
function change(
  config: SmallConfig,
  { name, operation }: Place,
  replace: (subject: string, rule: unknown) => unknown,
): SmallConfig {
  const collection = config.collections[name]
  const permissions = Object.fromEntries(
    Object.entries(collection.permissions).map(([subject, grant]) => {
      const rules = spell(grant)
      const { create, ...others } = rules
      const known = subject === 'owner' ? others : rules
      const isMentioned = Object.hasOwn(known, operation)
      return [subject, isMentioned ? { ...known, [operation]: replace(subject, known[operation]) } : known]
    }),
  )
  return { collections: { ...config.collections, [name]: { ...collection, permissions } } }
}

/** The documents that a schema accepts. */
const accepted = (schema: SmallSchema): readonly Json[] =>
  documentsOf(schema).filter((document) =>
    FIELDS.every((name) => {
      const { required, enum: choice } = schema[name]
      const value = document[name]
      return value === undefined ? !required : !choice || choice.includes(String(value))
    }),
  )

interface Asked {
  readonly document: Json
  readonly request: SmallRequest
  readonly caller: (typeof CALLERS)[number]
}

/** Requests of an operation: all of them, but for the documents of updates. */
function* ask(schema: SmallSchema, { name, operation }: Place, random: Random): Generator<Asked> {
  const documents = accepted(schema)
  const most = operation === 'update' ? TRIED.update : TRIED.other
  const some = documents.length > most ? random.sample(documents, most) : documents
  const requests: readonly SmallRequest[] =
    operation === 'update'
      ? (['patch', 'put'] as const).flatMap((kind) =>
          bodiesOf(schema, kind).map((body) => ({ collection: name, operation: kind, body })),
        )
      : operation === 'create'
        ? bodiesOf(schema, 'create').map((body) => ({ collection: name, operation, body }))
        : [{ collection: name, operation }]
  for (const caller of CALLERS)
    for (const request of requests)
      for (const document of operation === 'create' ? some.slice(0, 1) : some)
        yield { caller, document, request }
}

const effectOf = (judge: Judge, { caller, document, request }: Asked): string => {
  const { stored, shown = null } = judge(caller, document, request)
  return JSON.stringify(request.operation === 'read' ? shown : stored)
}

/** Says why a finding is wrong; `undefined` where nothing contradicts it. */
type Refute = (config: SmallConfig, place: Place, random: Random) => unknown

/** Without the rule, everything has the same effect. */
const hasNoEffect: Refute = (config, place, random) => {
  const [judge, without] = [
    createJudge(config),
    createJudge(
      change(config, place, (subject, rule) => (subject === place.subject ? withoutRule(rule, place) : rule)),
    ),
  ]
  for (const asked of ask(config.collections[place.name].schema, place, random))
    if (effectOf(judge, asked) !== effectOf(without, asked)) return asked
  return undefined
}

/** By the rule alone, nothing is written. */
const writesNothing: Refute = (config, place, random) => {
  const alone = createJudge(
    change(config, place, (subject, rule) => subject === place.subject && onlyRule(rule, place)),
  )
  for (const asked of ask(config.collections[place.name].schema, place, random)) {
    const { stored } = alone(asked.caller, asked.document, asked.request)
    const before = asked.request.operation === 'create' ? null : pick(asked.document)
    if (JSON.stringify(stored) !== JSON.stringify(before)) return asked
  }
  return undefined
}

/** Whether some request of an anonymous caller is accepted and writes. */
function mayStrangers(
  { collections }: SmallConfig,
  { name, operation }: Pick<Place, 'name' | 'operation'>,
): boolean {
  const collection = collections[name]
  const { judge, findGround, update } = judgeCollection(collection)
  const documents = accepted(collection.schema)
  // Every combination of values is a body, because as many as four fields may be required.
  const bodies = documents.filter(({ createdBy }) => createdBy === null).map(pick)
  if (operation === 'create')
    return bodies.some((body) => judge(null, {}, { collection: name, operation, body }).status === 201)
  if (operation === 'delete')
    return documents.some((document) => judge(null, document, { collection: name, operation }).status === 204)
  const patches = bodiesOf(collection.schema, 'patch')
  return documents.some((document) => {
    const ground = findGround(null, document)
    if ('status' in ground) return false
    const isWritten = (body: Json, isPut: boolean): boolean => {
      const chosen = update(ground, body, isPut)
      return 'fields' in chosen && chosen.writes
    }
    return patches.some((body) => isWritten(body, false)) || bodies.some((body) => isWritten(body, true))
  })
}

/** The same configuration with rules for strangers. */
function openToStrangers({ collections }: SmallConfig, random: Random): SmallConfig {
  const open = (name: CollectionName) => {
    const { schema, permissions } = collections[name]
    const rules = OPERATIONS.map((one) => [one, random.chance(0.2) || randomRule(random, schema, one, {})])
    return { schema, permissions: { ...permissions, '*': Object.fromEntries(rules) } }
  }
  return { collections: { things: open('things'), notes: open('notes') } }
}

/** Whether the rules for strangers compare by order: the universe has too few values between two others. */
const isBeyondValues = ({ collections }: SmallConfig, name: CollectionName): boolean =>
  /"\$[gl]te?"/.test(JSON.stringify(collections[name].permissions['*']))

const pick = (document: Json): Json =>
  Object.fromEntries(FIELDS.flatMap((name) => (name in document ? [[name, document[name]]] : [])))

const REFUTE: { readonly [code: string]: Refute } = {
  never_matches: (config, place, random) =>
    place.operation === 'create' ? undefined : hasNoEffect(config, place, random),
  never_runs: (config, place, random) =>
    place.subject === 'owner' || place.index !== undefined
      ? hasNoEffect(config, place, random)
      : writesNothing(config, place, random),
  unreadable_target: hasNoEffect,
  unmeetable_check: writesNothing,
  unfillable_field: writesNothing,
}

/** A field that can never be set: no request gives it another value than it had. */
function refuteUnsettable(config: SmallConfig, name: CollectionName, field: string, random: Random): unknown {
  const judge = createJudge(config)
  for (const operation of ['create', 'update'] as const) {
    const place = { name, operation, subject: '' }
    for (const asked of ask(config.collections[name].schema, place, random)) {
      const { stored } = judge(asked.caller, asked.document, asked.request)
      const before = operation === 'create' ? undefined : asked.document[field]
      const after = stored?.[field]
      if (after !== undefined && JSON.stringify(after) !== JSON.stringify(before)) return asked
    }
  }
  return undefined
}

test.each([false, true])(
  'what is found is so, for every request; hooks fill what is required: %s',
  (isFilled) => {
    const seen = new Map<string, number>()
    for (let seed = 1; seed <= CONFIGS; seed++) {
      const random = createRandom(seedOf(seed))
      const written = randomConfig(random)
      const hooks = isFilled ? { hooks: fillAll(written) } : {}
      const config = isFilled ? markFilled(written) : written
      for (const finding of checkConfig(written, { authenticate: true, ...hooks })) {
        const { code, pointer } = finding
        const refute = REFUTE[code]
        const [, , name, part, field = ''] = pointer.split('/')
        const contradictions =
          code === 'unsettable_field'
            ? [refuteUnsettable(config, name as CollectionName, field, random)]
            : part === 'permissions' && refute
              ? placesOf(config, finding)
                  .slice(0, 1)
                  .map((place) => refute(config, place, random))
              : []
        if (contradictions.length > 0) seen.set(code, (seen.get(code) ?? 0) + 1)
        const context = JSON.stringify({ seed, code, pointer, config })
        for (const found of contradictions) expect({ context, found }).toEqual({ context, found: undefined })
      }
    }
    expect(perRound(seen.size - 1, CONFIGS)).toBeGreaterThan(0)
    if (!isLong) return
    for (const code of ['never_matches', 'unreadable_target', 'unmeetable_check', 'unsettable_field'])
      expect(seen.get(code)).toBeGreaterThan(0)
  },
)

test('what anonymous callers may write is found in production, and nothing else', () => {
  const seen = new Map<string, number>()
  for (let seed = 1; seed <= OPENED; seed++) {
    const random = createRandom(seedOf(seed))
    const config = openToStrangers(randomConfig(random), random)
    const findings = checkConfig(config, { authenticate: true, production: true })
    if (findings.some(({ code }) => code === 'invalid_config')) continue
    for (const name of COLLECTIONS)
      for (const operation of ['create', 'update', 'delete'] as const) {
        const code = operation === 'create' ? 'anonymous_create' : 'anonymous_change'
        const pointer = `/collections/${name}/permissions/*/${operation}`
        const isFound = findings.some((one) => one.code === code && one.pointer === pointer)
        const isInPower = mayStrangers(config, { name, operation })
        if (isFound && !isInPower && isBeyondValues(config, name)) continue
        const context = JSON.stringify({ seed, pointer, config })
        expect({ context, isFound }).toEqual({ context, isFound: isInPower })
        const what = isFound ? code : `no ${code}`
        seen.set(what, (seen.get(what) ?? 0) + 1)
      }
  }
  for (const code of ['anonymous_create', 'anonymous_change'])
    for (const what of [code, `no ${code}`]) expect(perRound(seen.get(what) ?? 0, OPENED)).toBeGreaterThan(0)
})
