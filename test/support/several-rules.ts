import { expect } from 'vitest'
import type { Caller, createCollectionService } from '../../src/index.js'
import { createRandom, type Random } from '../../src/tools/testing/adapter/fuzz/random.js'
import { createSmallHandler } from './insight/ask-handler.js'
import { createJudge, type SmallAnswer } from './insight/judge.js'
import { type RuleOperation, randomRule, randomSchema } from './insight/random-config.js'
import {
  CALLERS,
  documentsOf,
  type Json,
  requestsOf,
  type SmallCaller,
  type SmallConfig,
  type SmallSchema,
} from './insight/universe.js'
import { createTestService } from './service.js'
import { seedOf } from './tier.js'

// CONTRACT.md §5, "Several rules of one subject", "Writing"

type Create = typeof createCollectionService

const ID = '0189abcd-0000-7000-8000-000000000001'
const ann: Caller = { id: 'ann', roles: [] }
const both: Caller = { id: 'bob', roles: ['editor', 'clerk'] }

const schema = {
  a: { type: 'string' },
  b: { type: 'string' },
  n: { type: 'integer', maximum: 10 },
  team: { type: 'string' },
}

/** One request for the only document there is, and what it leaves behind or, for a read, shows. */
export interface RulesCase {
  readonly rule: string
  readonly permissions: Json
  readonly caller?: Caller
  readonly stored?: Json
  readonly method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'
  readonly body?: Json
  /** The fields of the document, or the status of a refusal. */
  readonly expected: Json | number
}

const stored = { a: '1', b: '2' }

/** An update by `user`, of a document that `*` may read. */
const updating = (
  rule: string,
  update: unknown,
  [method, body]: readonly [RulesCase['method'], Json],
  expected: Json | number,
  more: Json = {},
): RulesCase => ({
  rule,
  permissions: { '*': { read: true }, user: { update }, ...more },
  method,
  body,
  expected,
})

const sixteen = Array.from({ length: 16 }, () => ({ where: { a: 'never' } }))
const many: Caller = { id: 'max', roles: ['r0', 'r1', 'r2', 'r3', 'r4'] }
const ofRoles = (last: readonly Json[]): Json => ({
  '*': { read: true },
  ...Object.fromEntries(['r0', 'r1', 'r2'].map((role) => [role, { update: sixteen }])),
  r3: { update: last },
  r4: { update: [{ where: { a: '1' } }] },
})

export const rulesCases: readonly RulesCase[] = [
  {
    rule: 'a document shows the fields of all rules that match it',
    permissions: {
      user: {
        read: [
          { where: { a: '1' }, pick: ['a'] },
          { where: { b: '2' }, pick: ['b'] },
        ],
      },
    },
    method: 'GET',
    expected: { a: '1', b: '2' },
  },
  {
    rule: 'and hides those of a rule that matches other documents',
    permissions: {
      user: {
        read: [
          { where: { a: '1' }, pick: ['a'] },
          { where: { b: 'x' }, pick: ['b'] },
        ],
      },
    },
    method: 'GET',
    expected: { a: '1' },
  },
  {
    rule: 'a document that no rule matches is not there',
    permissions: { user: { read: [{ where: { a: 'x' } }, { where: { b: 'x' } }] } },
    method: 'GET',
    expected: 404,
  },
  {
    rule: 'rules of owner match own documents alone',
    permissions: { owner: { read: [{ pick: ['a'] }, { pick: ['b'] }] }, user: { read: [{ pick: ['n'] }] } },
    method: 'GET',
    expected: {},
  },
  updating(
    'a rule for other documents does not run',
    [{ where: { a: 'x' } }, { where: { a: '1' }, pick: ['b'] }],
    ['PATCH', { b: 'y' }],
    { a: '1', b: 'y' },
  ),
  updating(
    'where none applies, a broader subject does not decide',
    [{ where: { a: 'x' } }, { where: { b: 'x' } }],
    ['PATCH', { b: 'y' }],
    403,
    { '*': true },
  ),
  updating(
    'the first of those that drop nothing',
    [{ set: { team: 'first' } }, { set: { team: 'second' } }],
    ['PATCH', { n: 1 }],
    { ...stored, n: 1, team: 'first' },
  ),
  updating(
    'one that drops nothing before one that drops something',
    [{ pick: ['a'] }, { pick: ['a', 'b'], check: {} }],
    ['PATCH', { a: '3', b: '4' }],
    { a: '3', b: '4' },
  ),
  updating(
    'where each drops something, the first',
    [{ pick: ['a'] }, { pick: ['b'] }],
    ['PATCH', { a: '3', b: '4' }],
    { a: '3', b: '2' },
  ),
  updating(
    'check is where of the same rule',
    [{ where: { a: '1' } }, { where: { a: '2' } }],
    ['PATCH', { a: '2' }],
    403,
  ),
  updating(
    'a check of its own replaces it',
    [{ where: { a: '1' }, check: { a: '2' } }, { where: { a: '2' } }],
    ['PATCH', { a: '2' }],
    { a: '2', b: '2' },
  ),
  updating(
    'one that is refused leaves it to the next',
    [{ check: { a: 'x' }, set: { team: 'no' } }, { set: { team: 'yes' } }],
    ['PATCH', { a: '3' }],
    { a: '3', b: '2', team: 'yes' },
  ),
  updating(
    'the faults of the first one tried are the answer',
    [{}, { omit: ['n'] }],
    ['PATCH', { a: '3', n: 11 }],
    400,
  ),
  updating(
    'so are those of the first one that drops nothing',
    [{ pick: ['a'] }, {}],
    ['PATCH', { a: '3', n: 11 }],
    400,
  ),
  updating(
    'a later one with faults is passed over',
    [{ set: { team: '$user.none' } }, { pick: ['a', 'n'] }, { pick: ['a'] }],
    ['PATCH', { a: '3', n: 11 }],
    { a: '3', b: '2' },
  ),
  updating(
    'after a refusal, one that keeps nothing does not run',
    [{ check: { a: 'x' } }, { pick: ['b'] }],
    ['PATCH', { a: '3' }],
    403,
  ),
  updating(
    'nor after a set that lacks its value',
    [{ set: { team: '$user.none' } }, { pick: ['b'] }],
    ['PATCH', { a: '3' }],
    403,
  ),
  updating('nor as a PUT', [{ check: { a: 'x' } }, { pick: ['b'] }], ['PUT', { a: '3' }], 403),
  updating(
    'one that keeps something does',
    [{ check: { a: 'x' } }, { pick: ['b'] }],
    ['PATCH', { a: '3', b: '4' }],
    { a: '1', b: '4' },
  ),
  updating('a body that is empty is dropped by none', [{ check: { a: 'x' } }, { pick: ['b'] }], ['PUT', {}], {
    a: '1',
  }),
  updating(
    'without a refusal, one that keeps nothing runs',
    [{ pick: ['b'] }, { pick: ['n'] }],
    ['PATCH', { a: '3' }],
    stored,
  ),
  updating('an array of one is that rule', [{ pick: ['b'] }], ['PATCH', { a: '3', b: '4' }], {
    a: '1',
    b: '4',
  }),
  {
    rule: 'the same holds for several roles',
    permissions: {
      '*': { read: true },
      editor: { update: { check: { a: 'x' } } },
      clerk: { update: { pick: ['b'] } },
    },
    caller: both,
    method: 'PATCH',
    body: { a: '3' },
    expected: 403,
  },
  {
    rule: 'all rules of a role come before those of the next',
    permissions: {
      '*': { read: true },
      editor: { update: [{ where: { a: 'x' } }, { set: { team: 'editor' } }] },
      clerk: { update: [{ set: { team: 'clerk' } }] },
    },
    caller: both,
    method: 'PATCH',
    body: { n: 1 },
    expected: { ...stored, n: 1, team: 'editor' },
  },
  {
    rule: 'the rules of owner come last',
    permissions: {
      '*': { read: true },
      owner: { update: [{ set: { team: 'owner' } }] },
      user: { update: [{ where: { a: 'x' } }, { set: { team: 'user' } }] },
    },
    stored: { ...stored, createdBy: 'ann' },
    method: 'PATCH',
    body: { n: 1 },
    expected: { ...stored, n: 1, team: 'user' },
  },
  {
    rule: 'a create is tried in the same way',
    permissions: { user: { create: [{ check: { a: 'x' } }, { pick: ['a'], set: { team: 'second' } }] } },
    method: 'POST',
    body: { a: '3', b: '4' },
    expected: { a: '3', team: 'second' },
  },
  {
    rule: 'a create of which nothing is kept does not run after a refusal',
    permissions: { user: { create: [{ check: { a: 'x' } }, { pick: ['b'] }] } },
    method: 'POST',
    body: { a: '3' },
    expected: 403,
  },
  {
    rule: 'any rule deletes',
    permissions: { '*': { read: true }, user: { delete: [{ where: { a: 'x' } }, { where: { b: '2' } }] } },
    method: 'DELETE',
    expected: 204,
  },
  {
    rule: 'no rule for other documents deletes',
    permissions: { '*': { read: true }, user: { delete: [{ where: { a: 'x' } }, { where: { b: 'x' } }] } },
    method: 'DELETE',
    expected: 403,
  },
  {
    rule: 'the 64th rule counts',
    permissions: ofRoles(sixteen.slice(1)),
    caller: many,
    method: 'PATCH',
    body: { b: '4' },
    expected: { a: '1', b: '4' },
  },
  {
    rule: 'the 65th does not',
    permissions: ofRoles(sixteen),
    caller: many,
    method: 'PATCH',
    body: { b: '4' },
    expected: 403,
  },
]

/** Runs one case. Throws where the answer, or what is stored, is another. */
export async function checkRulesCase(one: RulesCase, create?: Create): Promise<void> {
  const { permissions, method, body, expected, caller = ann } = one
  const auditor = { id: 'auditor', roles: ['auditor'] }
  const { send } = createTestService(
    { collections: { things: { schema, permissions: { ...permissions, auditor: { read: true } } } } },
    {
      authenticate: () => null,
      documents:
        method === 'POST' ? {} : { things: [{ _id: ID, createdBy: null, ...(one.stored ?? stored) }] },
      ...(create ? { create } : {}),
    },
  )
  const path = method === 'POST' ? '/things' : `/things/${ID}`
  const answer = await send(`${method} ${path}`, { caller, ...(body ? { body } : {}) })
  if (typeof expected === 'number') return void expect(answer.status).toBe(expected)
  expect(answer.status).toBe(method === 'POST' ? 201 : 200)
  const read = method === 'GET' ? answer.body : (await send('GET /things', { caller: auditor })).body[0]
  const { _id, createdAt, updatedAt, createdBy, ...fields } = read
  expect(fields).toEqual(expected)
}

const SUBJECTS = ['*', 'user', 'owner', 'editor', 'clerk']

/** Roles that give a caller who has them all more than 64 rules. */
const CROWD = ['r0', 'r1', 'r2', 'r3', 'r4']

const CROWDED: readonly (SmallCaller | null)[] = CALLERS.map(
  (caller) => caller && { ...caller, roles: [...caller.roles, ...CROWD] },
)

/** A rule that never runs, so that a later one may. */
const IDLE: { readonly [operation in RuleOperation]: Json } = {
  read: { where: { a: 'never' } },
  create: { check: { a: 'never' } },
  update: { where: { a: 'never' } },
  delete: { where: { a: 'never' } },
}

/** Permissions in which subjects have up to four rules, many of them alike; in a crowd up to 16, of which few ever run. */
function randomRules(random: Random, fields: SmallSchema, isCrowd: boolean): Json {
  const known: { [operation in RuleOperation]?: Json[] } = {}
  const ruleFor = (operation: RuleOperation): Json => {
    if (isCrowd && random.chance(0.96)) return IDLE[operation]
    const others = known[operation] ?? []
    const rule = random.chance(0.15)
      ? {}
      : others.length > 0 && random.chance(0.3)
        ? { ...random.pick(others), ...randomRule(random, fields, operation, {}) }
        : randomRule(random, fields, operation, {})
    known[operation] = [...others, rule]
    return rule
  }
  const rulesFor = (operation: RuleOperation): unknown => {
    if (random.chance(0.1)) return random.chance(0.5)
    const length = isCrowd ? random.integer(10, 16) : random.integer(1, 4)
    const rules = Array.from({ length }, () => ruleFor(operation))
    return rules.length === 1 && random.chance(0.5) ? rules[0] : rules
  }
  const subjects = [...SUBJECTS.filter(() => random.chance(0.6)), ...(isCrowd ? CROWD : [])]
  const grants = subjects.map((subject) => [
    subject,
    Object.fromEntries(
      (['read', 'create', 'update', 'update', 'delete'] as const)
        .filter(
          (operation) =>
            random.chance(isCrowd ? 0.9 : 0.6) && (subject !== 'owner' || operation !== 'create'),
        )
        .map((operation) => [operation, rulesFor(operation)]),
    ),
  ])
  const everyone = random.chance(0.5) ? { '*': { read: true } } : {}
  return { ...Object.fromEntries(grants), ...everyone }
}

/** The same permissions with other rules in each array. */
const withRules = (permissions: Json, change: (rules: readonly Json[]) => readonly Json[]): Json =>
  Object.fromEntries(
    Object.entries(permissions).map(([subject, grant]) => [
      subject,
      Object.fromEntries(
        Object.entries(grant as Json).map(([operation, rules]) => [
          operation,
          Array.isArray(rules) ? change(rules) : rules,
        ]),
      ),
    ]),
  )

/** How often a request told an array from its first rule, and from the reverse, and 64 rules from all there are. */
export interface SeenRules {
  asked: number
  beyondFirst: number
  ordered: number
  cut: number
}

const QUESTIONS = 40

/** In one configuration of so many, callers may have more than 64 rules. */
const CROWDS = 8

const effectOf = ({ errors: _, ...rest }: SmallAnswer): Omit<SmallAnswer, 'errors'> => rest

/** What the handler answers and stores is what §5 says, read literally. Throws on a counterexample. */
export async function checkRules(configs: number, create?: Create, part = 0): Promise<SeenRules> {
  const seen: SeenRules = { asked: 0, beyondFirst: 0, ordered: 0, cut: 0 }
  for (let seed = part * configs + 1; seed <= (part + 1) * configs; seed++) {
    const random = createRandom(seedOf(seed))
    const fields = randomSchema(random)
    const isCrowd = seed % CROWDS === 0
    const permissions = randomRules(random, fields, isCrowd)
    const callers = isCrowd ? CROWDED : CALLERS
    const configOf = (own: Json): SmallConfig => ({
      collections: {
        things: { schema: fields, permissions: own },
        notes: { schema: fields, permissions: {} },
      },
    })
    const judge = createJudge(configOf(permissions))
    const first = createJudge(configOf(withRules(permissions, (rules) => rules.slice(0, 1))))
    const reverse = createJudge(configOf(withRules(permissions, (rules) => [...rules].reverse())))
    const all = createJudge(configOf(permissions), Number.POSITIVE_INFINITY)
    const handler = await createSmallHandler(configOf(permissions), create ? { create } : {})
    const [documents, requests] = [documentsOf(fields), requestsOf('things', fields)]
    for (let i = 0; i < QUESTIONS; i++) {
      const operation = random.pick(['read', 'create', 'patch', 'patch', 'patch', 'put', 'delete'])
      const request = random.pick(requests.filter((one) => one.operation === operation))
      const [caller, document] = [random.pick(callers), random.pick(documents)]
      const context = JSON.stringify({ seed, permissions, fields, caller, document, request })
      const answer = effectOf(await handler.ask(caller, document, request))
      const expected = effectOf(judge(caller, document, request))
      expect({ context, ...answer }).toEqual({ context, ...expected })
      const isAs = (other: typeof judge): boolean =>
        JSON.stringify(effectOf(other(caller, document, request))) === JSON.stringify(expected)
      seen.asked += 1
      if (!isAs(first)) seen.beyondFirst += 1
      if (!isAs(reverse)) seen.ordered += 1
      if (!isAs(all)) seen.cut += 1
    }
    await handler.close()
  }
  return seen
}
