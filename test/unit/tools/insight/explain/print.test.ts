import { expect, test } from 'vitest'
import type { Difference } from '../../../../../src/tools/insight/diff/types.js'
import { explainWith } from '../../../../../src/tools/insight/explain/explain-request.js'
import type { ExplainedRequest, Explanation } from '../../../../../src/tools/insight/explain/explanation.js'
import {
  printExplanation,
  printExplanationMarkdown,
} from '../../../../../src/tools/insight/explain/print/print-explanation.js'
import { coloured } from '../../../../../src/tools/insight/text/paint.js'
import { ann, articles, bob, DRAFT, documents, PUBLISHED } from './articles.js'

// CONTRACT.md §8, "Explain"

const asked: ExplainedRequest = {
  method: 'PATCH',
  path: `/articles/${DRAFT}`,
  caller: ann,
  body: { status: 'published', views: 1 },
  documents,
}

const explain = (request: ExplainedRequest, diff: readonly Difference[] = []): Promise<Explanation> =>
  explainWith(articles, request, {}, () => diff)

const AT = '/collections/articles/permissions'
const CHECK = '{ "$or": [{ "status": { "$ne": "published" } }, { "status": "published" }] }'

test('a refusal, as text', async () => {
  expect(printExplanation(await explain(asked)).split('\n')).toEqual([
    `PATCH /articles/${DRAFT} as ann (user, *, owner)`,
    '403 forbidden: You may not store such a document.',
    '',
    `✓ read articles/${DRAFT}: granted`,
    `  ✗ *: not for this document  ${AT}/*/read`,
    '    ✗ status = "published": is "draft"  where/status',
    `  ✓ owner: shows it  ${AT}/owner/read`,
    '    ✓ createdBy = "$user._id" ("ann"): is "ann"',
    '  · user: has no rule',
    '',
    `✗ update articles/${DRAFT}: denied`,
    `  ✗ owner: does not allow such a document  ${AT}/owner/update`,
    '    ✓ createdBy = "$user._id" ("ann"): is "ann"',
    '    ✗ status ≠ "published": would be "published"  check/status/$ne',
    '    · drops views, which it omits  omit/0',
    '  · user, *: have no rule',
    '',
    'The right to update articles is missing. This grant would have let the request succeed; it also',
    'accepts views, and applies in 1 more case:',
    `  ${AT}/owner/update`,
    `    { "check": ${CHECK} }`,
  ])
})

const witness = {
  caller: null,
  documents: {},
  now: '2026-01-01T00:00:00.000Z',
  request: { method: 'GET', path: '/articles' },
} as const
const change = { collection: 'articles', operation: 'patch', stale: false, witness, follows: [] } as const

test.each<readonly [difference: Difference, line: string]>([
  [
    { ...change, kind: 'widening', fields: ['views'], roles: [] },
    'widening: patch articles, views, by anyone who is signed in',
  ],
  [{ ...change, kind: 'narrowing', fields: [], roles: ['a', 'b'] }, 'narrowing: patch articles, by a and b'],
  [
    { ...change, kind: 'changed', fields: [], roles: null, stale: true },
    'changed: patch articles, by anyone (with a document that could not be stored before)',
  ],
  [{ kind: 'schema', pointer: '/collections/articles', follows: [] }, 'schema: /collections/articles'],
  [
    { kind: 'undecided', collection: 'articles', operation: 'put', reason: 'patterns' },
    'undecided: put articles',
  ],
])('what else a suggestion changes: %#', async (difference, line) => {
  const explanation = await explain(asked, [difference])
  expect(printExplanation(explanation).split('\n').at(-1)).toBe(`  - ${line}`)
  expect(printExplanationMarkdown(explanation).split('\n').at(-1)).toBe(`- ${line}`)
})

test('of many changes the first are told', async () => {
  const differences = Array.from(
    { length: 10 },
    () => ({ ...change, kind: 'changed', fields: [], roles: [] }) as const,
  )
  const lines = printExplanation(await explain(asked, differences)).split('\n')
  expect(lines.filter((line) => line.startsWith('  - '))).toHaveLength(9)
  expect(lines.at(-1)).toBe('  - and 2 more')
})

test('as Markdown', async () => {
  const text = printExplanationMarkdown(await explain(asked))
  expect(text.split('\n').slice(0, 6)).toEqual([
    `### \`PATCH /articles/${DRAFT} as ann (user, *, owner)\``,
    '',
    '403 forbidden: You may not store such a document.',
    '',
    `- ✓ read articles/${DRAFT}: granted`,
    `  - ✗ \\*: not for this document \`${AT}/*/read\``,
  ])
  expect(text).toContain(['```json', `{ "check": ${CHECK} }`, '```'].join('\n'))
})

const long = 'x'.repeat(300)
test.each<readonly [what: string, request: Partial<ExplainedRequest>]>([
  ['a refusal', {}],
  ['an answer', { method: 'GET', path: `/articles/${PUBLISHED}`, body: undefined }],
  ['faults', { method: 'POST', path: '/articles', caller: bob, body: { title: long, tags: 1 } }],
  ['nothing to suggest', { method: 'GET', path: '/articles/x', body: undefined }],
  ['a long value', { method: 'PATCH', body: { status: 'published', title: long } }],
  [
    'a long list',
    {
      method: 'GET',
      path: '/articles',
      body: undefined,
      documents: { articles: Array.from({ length: 30 }, (_, i) => ({ title: `${i}`, tags: [long] })) },
    },
  ],
])('lines of %s fit a terminal, coloured or not', async (_, request) => {
  const explanation = await explain({ ...asked, ...request })
  const plain = printExplanation(explanation)
  for (const line of plain.split('\n')) expect(line.length, line).toBeLessThanOrEqual(100)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the sequences of a terminal
  expect(printExplanation(explanation, { paint: coloured }).replaceAll(/\u001b\[\d+m/g, '')).toBe(plain)
})
