import { expect, test } from 'vitest'
import type { Caller } from '../../src/index.js'
import { createTestService, type TestService } from '../support/service.js'

// CONTRACT.md §5, "Variables"

/** What a caller may read is kept by the values of the variables: callers whose values look alike share nothing. */

const TEXTS = ['a', 'b', '1', '0', 'null', 'true', 'a,b', '["a"]', '{}', '', 'undefined', '-0', 'é', '😀']

const text = { type: 'string' }

/** Collections that show what depends on a variable, in each form of it. */
const COLLECTIONS: { readonly [name: string]: readonly [schema: object, rule: object] } = {
  one: [{ text }, { where: { text: '$user.v' } }],
  some: [{ text }, { where: { text: { $in: '$user.v' } } }],
  'all but some': [{ text }, { where: { text: { $nin: '$user.v' } } }],
  'two in a list': [{ text }, { where: { text: { $in: ['$user.v', '$user.w'] } } }],
  deep: [{ text }, { where: { text: '$user.v.w' } }],
  'a name of a prototype': [{ text }, { where: { text: '$user.toString' } }],
  'a number': [{ n: { type: 'number' } }, { where: { n: '$user.v' } }],
  'a flag': [{ b: { type: 'boolean' } }, { where: { b: '$user.v' } }],
}

const DOCUMENTS = [
  ...TEXTS.map((value) => ({ text: value })),
  { n: 0 },
  { n: 1 },
  { n: 2.5 },
  { b: true },
  { b: false },
]

/** Lists that say of themselves in JSON that they are others. */
class Secretive extends Array<unknown> {
  toJSON(): unknown {
    return ['a']
  }
}

const VALUES: readonly unknown[] = [
  ...TEXTS,
  ...[0, -0, 1, 2.5, Number.NaN, true, false, null, undefined, 10n, Symbol('a'), () => 'a', new Date(0)],
  ...[
    ['a'],
    ['b'],
    ['a', 'b'],
    [['a']],
    [],
    [null],
    [undefined],
    Object.assign(Array(2), { 1: 'a' }),
    ['a,b'],
    [0],
    ['0'],
    [Number.NaN],
  ],
  ...[{}, { w: 'a' }, { w: 'b' }, { w: null }, { w: ['a'] }, { w: '1' }, { w: 1 }, { toJSON: () => 'a' }],
  ...[
    new String('a'),
    Object.create({ w: 'a' }),
    Object.assign(['b'], { toJSON: () => 'a' }),
    Secretive.of('b'),
  ],
  ...[
    Object.create(Object.create(null, { toJSON: { value: () => 'a' } })),
    JSON.parse('{"__proto__":{"w":"a"}}'),
  ],
  '\ud800',
  'a\u0000',
]

const callers = VALUES.flatMap((v): readonly Caller[] => [
  { id: 'a', v },
  { id: 'b', v, w: 'b' },
  { id: '1', w: v, toString: v },
])

const ask = async ({ send }: TestService, caller: Caller): Promise<string> =>
  (await send('GET /things?sort[_id]=1', { caller })).text

test.each(Object.entries(COLLECTIONS))('%s', async (_what, [schema, rule]) => {
  const config = {
    collections: { things: { schema, permissions: { user: { read: rule }, owner: { read: true } } } },
  }
  const names = Object.keys(schema)
  const things = [
    ...DOCUMENTS.filter((document) => Object.keys(document).every((name) => names.includes(name))),
    {},
    { createdBy: 'a' },
    { createdBy: '1' },
  ]
  const kept = createTestService(config, { documents: { things }, authenticate: () => null })
  await kept.handler.ready()
  const apart: string[] = []
  for (const caller of callers) {
    apart.push(
      await ask(createTestService(config, { adapter: kept.adapter, authenticate: () => null }), caller),
    )
  }
  // Each comes once before and once behind every other.
  for (const order of [callers, callers.toReversed()]) {
    for (const caller of order) {
      const answer = await ask(kept, caller)
      expect({ caller, answer }).toEqual({ caller, answer: apart[callers.indexOf(caller)] })
    }
  }
  expect(new Set(apart).size).toBeGreaterThan(3)
})
