import { expect, test } from 'vitest'
import { permissionMatrix } from '../../src/tools/insight/index.js'
import type { CallerMatrix, MatrixFields, MatrixRule } from '../../src/tools/insight/matrix/types.js'
import { createRandom, type Random } from '../../src/tools/testing/adapter/fuzz/random.js'
import { createJudge, type Judge, type SmallAnswer } from '../support/insight/judge.js'
import { type RuleOperation, randomPart, randomRule, randomSchema } from '../support/insight/random-config.js'
import {
  CALLERS,
  documentsOf,
  type Json,
  ROLES,
  requestsOf,
  type SmallCaller,
  type SmallCollection,
  type SmallRequest,
  type SmallSchema,
  type Triple,
} from '../support/insight/universe.js'
import { isLong, rounds, seedOf } from '../support/tier.js'

const CONFIGS = rounds(150, 2_000)
/** Of each kind of caller, as somebody else and as the owner. */
const QUESTIONS = isLong ? 200 : 100

const RULED = ['create', 'read', 'update', 'delete'] as const

/** Permissions in which every subject has rules, many of them alike. */
function randomPermissions(random: Random, schema: SmallSchema): Json {
  const known: { readonly [operation in RuleOperation]: Json[] } = {
    create: [],
    read: [],
    update: [],
    delete: [],
  }
  const ruleFor = (operation: RuleOperation): Json => {
    if (random.chance(0.25)) return {}
    if (known[operation].length === 0 || random.chance(0.5)) return randomRule(random, schema, operation, {})
    const { ...other } = random.pick(known[operation]) as { [part: string]: unknown }
    const part = random.pick(Object.keys(other).length > 0 ? Object.keys(other) : ['where'])
    if (random.chance(0.3)) delete other[part]
    else if (random.chance(0.5) && (part !== 'where' || operation !== 'create'))
      other[part] = randomPart(random, schema, part, operation, {})
    return other
  }
  const subjects = ['*', 'user', ...ROLES, 'owner'].filter(() => random.chance(0.8))
  return Object.fromEntries(
    subjects.map((subject) => [
      subject,
      Object.fromEntries(
        RULED.flatMap((operation): [string, unknown][] => {
          if (random.chance(0.35) || (subject === 'owner' && operation === 'create')) return []
          if (random.chance(0.08)) return [[operation, false]]
          const rules = Array.from({ length: random.chance(0.3) ? random.integer(1, 3) : 1 }, () => {
            const rule = ruleFor(operation)
            known[operation].push(rule)
            return rule
          })
          return [[operation, rules.length > 1 || random.chance(0.1) ? rules : rules[0]]]
        }),
      ),
    ]),
  )
}

/**
 * A configuration that says of one kind of caller what the matrix says, and nothing else: its rules in their order,
 * each as that of a role which the caller has, or as one of several rules of everyone.
 */
function rewrite(
  { schema }: SmallCollection,
  cells: CallerMatrix,
): { judge: Judge; roles: readonly string[] } {
  const judgeOf = (own: Json): Judge =>
    createJudge({
      collections: { things: { schema, permissions: own }, notes: { schema, permissions: own } },
    })
  if (cells.caller.kind === 'anonymous') {
    const everyone = RULED.map((operation): [string, unknown] => {
      const rules = cells[operation] ?? []
      return [operation, rules.length > 0 && rules.map((rule) => toWritten(rule, operation))]
    })
    return { judge: judgeOf({ '*': Object.fromEntries(everyone) }), roles: [] }
  }
  const count = Math.max(...RULED.map((operation) => cells[operation]?.length ?? 0))
  const roles = Array.from({ length: count }, (_, i) => `role${i}`)
  const permissions = Object.fromEntries(
    roles.map((role, i) => [
      role,
      Object.fromEntries(
        RULED.flatMap((operation): [string, unknown][] => {
          const rule = cells[operation]?.[i]
          return rule ? [[operation, toWritten(rule, operation)]] : []
        }),
      ),
    ]),
  )
  return { judge: judgeOf(permissions), roles }
}

function toWritten({ where, fields, set, check }: MatrixRule, operation: string): Json {
  return {
    ...(where ? { where: where.where } : {}),
    ...(fields ? toLists(fields) : {}),
    ...(operation === 'create' || operation === 'update' ? { set, check: check?.where ?? {} } : {}),
  }
}

const toLists = (fields: MatrixFields): Json =>
  fields.kind === 'all' ? {} : { [fields.kind === 'only' ? 'pick' : 'omit']: fields.names }

/** What an answer tells of the right to do something; a new document is shown to its owner, also to an anonymous one. */
const letThrough = ({ status, shown, stored, ignored }: SmallAnswer): Json =>
  status < 300 ? { stored, ignored, ...(status === 201 ? {} : { shown }) } : {}

/** Whether the rule that ran dropped all of the body: a PATCH then writes nothing, and needs no right to. */
const keepsNothing = ({ body = {} }: SmallRequest, { status, ignored }: SmallAnswer): boolean =>
  status < 300 && ignored.length === Object.keys(body).length

/** Whether a rule drops all of a body. */
const dropsAll = ({ fields, set }: MatrixRule, body: Json): boolean =>
  Object.keys(body).every(
    (name) =>
      name in (set ?? {}) ||
      (fields && fields.kind !== 'all' && fields.names.includes(name) !== (fields.kind === 'only')),
  )

/**
 * Whether the matrix leaves out a rule of everyone that an anonymous caller never meets, beside one that drops all of
 * the body: the former still forbids the latter to run.
 */
function isForbidden({ permissions }: SmallCollection, cells: CallerMatrix, request: SmallRequest): boolean {
  const { body, operation } = request
  if (cells.caller.kind !== 'anonymous' || !body) return false
  const ruled = operation === 'create' ? 'create' : 'update'
  const listed = cells[ruled] ?? []
  const written = (permissions['*'] as Json | undefined)?.[ruled]
  return [written].flat().length > listed.length && listed.some((rule) => dropsAll(rule, body))
}

const kindOf = (caller: SmallCaller | null): string => (caller === null ? '' : (caller.roles[0] ?? 'user'))
const isKind = ({ caller }: CallerMatrix, one: SmallCaller | null): boolean =>
  (caller.kind === 'role' ? caller.role : caller.kind === 'user' ? 'user' : '') === kindOf(one)

/** Callers with one role at most: of those with several, the order of the roles says what they may. */
const SINGLE = CALLERS.filter((caller) => (caller?.roles.length ?? 0) < 2)

interface Difference extends Triple {
  readonly permissions: Json
  readonly said: Json
  readonly done: Json
}

function findDifference(collection: SmallCollection, random: Random): Difference | undefined {
  const { schema, permissions } = collection
  const config = { collections: { things: collection, notes: { schema, permissions: {} } } }
  const judge = createJudge(config)
  const [things] = permissionMatrix(config, { authenticate: true }).collections
  const documents = documentsOf(schema)
  const requests = requestsOf('things', schema)
  const bodiless = requests.filter(({ body }) => !body)
  for (const cells of things?.callers ?? []) {
    const { judge: say, roles } = rewrite(collection, cells)
    const askers = SINGLE.filter((one) => isKind(cells, one))
    for (let i = 0; i < QUESTIONS; i++) {
      const caller = random.pick(askers)
      const document = random.pick(documents)
      const request = random.pick(random.chance(0.3) ? bodiless : requests)
      const isOwn = caller !== null && document.createdBy === caller.id
      if (isOwn !== cells.isOwner || (isOwn && request.operation === 'create')) continue
      if (isForbidden(collection, cells, request)) continue
      const answer = judge(caller, document, request)
      if (request.operation === 'patch' && keepsNothing(request, answer)) continue
      const other = say(caller && { ...caller, roles }, document, request)
      // The matrix leaves out rules that never run. They still forbid a rule that keeps nothing of the body.
      if (other.ignored.length > 0 && keepsNothing(request, other) && !keepsNothing(request, answer)) continue
      const [done, said] = [letThrough(answer), letThrough(other)]
      if (JSON.stringify(done) !== JSON.stringify(said))
        return { permissions, caller, document, request, said, done }
    }
  }
  return undefined
}

test(`what the matrix says is what is let through, in ${CONFIGS} configurations`, () => {
  for (let seed = 1; seed <= CONFIGS; seed++) {
    const random = createRandom(seedOf(seed))
    const schema = randomSchema(random)
    const permissions = randomPermissions(random, schema)
    expect(findDifference({ schema, permissions }, random), `seed ${seed}`).toBeUndefined()
  }
})
