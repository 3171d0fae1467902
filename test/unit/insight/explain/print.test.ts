import { expect, test } from 'vitest'
import { explainRequest } from '../../../../src/insight/explain/explain-request.js'
import type { ExplainedRequest } from '../../../../src/insight/explain/explanation.js'
import {
  printExplanation,
  printExplanationMarkdown,
} from '../../../../src/insight/explain/print/print-explanation.js'
import { coloured } from '../../../../src/insight/text/paint.js'
import { ann, articles, bob, DRAFT, documents, PUBLISHED } from './articles.js'

// CONTRACT.md §8, "Explain"

const asked: ExplainedRequest = {
  method: 'PATCH',
  path: `/articles/${DRAFT}`,
  caller: ann,
  body: { status: 'published', views: 1 },
  documents,
}

const AT = '/collections/articles/permissions'
const CHECK = '{ "$or": [{ "status": { "$ne": "published" } }, { "status": "published" }] }'

test('a refusal, as text', async () => {
  expect(printExplanation(await explainRequest(articles, asked)).split('\n')).toEqual([
    `PATCH /articles/${DRAFT} as ann (user, *, owner)`,
    '403 forbidden: You may not store such a document.',
    '',
    `✓ read articles/${DRAFT}: granted`,
    `  ✗ *: not for this document  ${AT}/*/read`,
    '    ✗ status = "published": is "draft"  where/status',
    `  ✓ owner: shows it  ${AT}/owner/read`,
    '    ✓ createdBy = "$user._id" ("ann"): is "ann"',
    '  · user: says nothing',
    '',
    `✗ update articles/${DRAFT}: refused`,
    `  ✗ owner: not for such a document  ${AT}/owner/update`,
    '    ✓ createdBy = "$user._id" ("ann"): is "ann"',
    '    ✗ status ≠ "published": would be "published"  check/status/$ne',
    '    · drops views, which it omits  omit/0',
    '  · user, *: say nothing',
    '',
    'The right to update articles is missing. This would have let it through; it accepts views besides,',
    'and holds in 1 more case:',
    `  ${AT}/owner/update`,
    `    { "check": ${CHECK} }`,
  ])
})

test('as Markdown', async () => {
  const text = printExplanationMarkdown(await explainRequest(articles, asked))
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
  const explanation = await explainRequest(articles, { ...asked, ...request })
  const plain = printExplanation(explanation)
  for (const line of plain.split('\n')) expect(line.length, line).toBeLessThanOrEqual(100)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the sequences of a terminal
  expect(printExplanation(explanation, { paint: coloured }).replaceAll(/\u001b\[\d+m/g, '')).toBe(plain)
})
