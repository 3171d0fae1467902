import { expect, test } from 'vitest'
import { describeApi } from '../../src/tools/insight/index.js'
import { createJudge, findIn } from '../support/json-schema.js'
import { createTestService } from '../support/service.js'

// CONTRACT.md §8, "OpenAPI": texts that are normalised before their pattern is looked for

const PATTERNS = [
  '^[a-z0-9-]+$',
  '[A-Z]',
  '^[A-Za-z]{3}$',
  '^[^a-z]+$',
  '^a',
  '^A',
  'k',
  '^[a-kz]+$',
  '\\bk',
  '^\\B',
  '^\\W',
  '^ a',
  '\\s$',
  '^\\S+$',
  '^.{4}$',
  '^(?:abc|αβγ)$',
  'σ$',
  '[σς]$',
  '^[^@]+@[^@]+$',
  '^$',
]
const NORMALISED = [
  { lowercase: true },
  { trim: true },
  { lowercase: true, trim: true },
  { lowercase: true, maxLength: 4 },
  { lowercase: true, trim: true, minLength: 2 },
]
const TEXTS = [
  ...[
    '',
    'abc',
    'ABC',
    'Abc',
    'a-1',
    'A',
    'k',
    'K',
    '\u212a',
    '\u212ab',
    'a\u212a',
    '\u0130',
    '\u0130a',
    '123',
  ],
  ...[
    'αβγ',
    'ΑΒΓ',
    'ΑΣ',
    'Σ',
    'αΣ1',
    'ß',
    'ẞ',
    'Ann@x',
    ' a',
    'a ',
    ' abc ',
    '\u00a0abc',
    ' ',
    'a b',
    'éÉ',
    '𐐀𐐨',
  ],
]

const FIELDS = PATTERNS.flatMap((pattern) => NORMALISED.map((more) => ({ type: 'string', pattern, ...more })))
const caller = { id: 'ann' }
const config = {
  collections: {
    things: {
      schema: Object.fromEntries(FIELDS.map((field, i) => [`f${i}`, field])),
      permissions: { user: { create: true, read: true } },
    },
  },
}

test('what is described is taken, and where only the case changes, nothing else is', async () => {
  const document = describeApi(config as never, { caller, authenticate: true })
  const judge = createJudge(findIn(document))
  const { send } = createTestService(config as never, { authenticate: () => null })
  for (const [i, { pattern, ...more }] of FIELDS.entries()) {
    for (const text of TEXTS) {
      const body = { [`f${i}`]: text }
      const isDescribed = judge({ $ref: '#/components/schemas/things.create' }, body) === undefined
      const { status } = await send('POST /things', { body, caller })
      const what = `${JSON.stringify(text)} for ${pattern} with ${JSON.stringify(more)}`
      if (isDescribed) expect(status, what).toBe(201)
      // A capital sigma is one of two letters, by what stands around it.
      const isExact = !('trim' in more) && !/[\u0130\u212aΣ]/.test(text)
      if (isExact) expect(isDescribed, what).toBe(status === 201)
    }
  }
})
