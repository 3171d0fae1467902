import { expect, test } from 'vitest'
import type { Answer } from '../../src/core/http/answer.js'
import type * as Root from '../../src/core/http/routes/root.js'
import { Call, type CallRequest } from '../../src/core/request/call.js'
import { checkPage, PAGE } from '../support/page.js'
import { choose } from './choose.js'
import { createMutant, fails, type Mutant } from './create-mutant.js'

/** The page broken on purpose: served where it should not be, or saying what it should not. */

const ROOT = '../../src/core/http/routes/root.js'

const breakPage =
  (break_: (real: typeof Root) => Partial<typeof Root>): Mutant[2] =>
  async (original) => {
    const real = (await original()) as typeof Root
    return { ...real, ...break_(real) }
  }

/** Answers otherwise, where the real one answers with the document. */
const answering = (change: (answer: Answer, call: Call) => Partial<Answer>): Mutant[2] =>
  breakPage(({ page }) => ({
    page: {
      ...page,
      run(call, place, mount) {
        const answer = page.run(call, place, mount) as Answer
        return answer.status === 200 ? { ...answer, ...change(answer, call) } : answer
      },
    },
  }))

const withoutQuery = (request: CallRequest): CallRequest => ({
  prefix: request.prefix,
  query: '',
  parameters: [],
  header: (name) => request.header(name),
  client: () => request.client(),
  readBody: () => request.readBody(),
})

const withHeaders = (other: { readonly [name: string]: string }): Mutant[2] =>
  answering(({ headers }) => ({ headers: { ...headers, ...other } }))

const without = (...names: readonly string[]): Mutant[2] =>
  answering(({ headers }) => ({
    headers: Object.fromEntries(Object.entries(headers).filter(([name]) => !names.includes(name))),
  }))

const mutants: readonly (readonly [what: string, replace: Mutant[2]])[] = [
  [
    'a query is taken',
    breakPage(({ page }) => ({
      page: {
        ...page,
        run: ({ service, ...parts }, place, mount) =>
          page.run(new Call(service, { ...parts, request: withoutQuery(parts.request) }), place, mount),
      },
    })),
  ],
  ['it says who asks', answering(({ body }, call) => ({ body: `${body}${call.caller?.id ?? ''}` }))],
  [
    'it says what there is',
    answering(({ body }, call) => ({ body: `${body}${[...call.service.plan.collections.keys()]}` })),
  ],
  ['it says where it is', answering(({ body }, { request }) => ({ body: `${body}${request.prefix}` }))],
  [
    'it says a header again',
    answering(({ body }, { request }) => ({ body: `${body}${request.header('x-forwarded-prefix') ?? ''}` })),
  ],
  [
    'it is another one for who takes no markup',
    answering(({ body }, { request }) => ({
      body: request.header('accept') === 'application/json' ? '{}' : body,
    })),
  ],
  ['it has no policy', without('content-security-policy')],
  [
    'its policy only reports',
    withHeaders({ 'content-security-policy': '', 'content-security-policy-report-only': PAGE.policy }),
  ],
  ['it tells others where one was', without('referrer-policy')],
  ['another window may hold it', without('cross-origin-opener-policy')],
  ['caches keep it', withHeaders({ 'cache-control': 'public, max-age=3600' })],
  ['it is taken for text', withHeaders({ 'content-type': 'text/plain' })],
  ['nobody knows it again', without('etag')],
  [
    'it is served where no host gave it',
    breakPage(({ page }) => ({
      hasPage: () => true,
      page: {
        ...page,
        run: (call, place, mount) => {
          const service = { ...call.service, page: PAGE }
          return page.run(new Call(service, { ...call }), place, mount)
        },
      },
    })),
  ],
]

test('the real one passes, taken through the same hands', async () => {
  await checkPage(await createMutant(['nothing is broken', ROOT, answering(() => ({}))]))
})

test.each(choose(mutants, () => ROOT))('is noticed: %s', async (what, replace) => {
  expect(await fails(checkPage(await createMutant([what, ROOT, replace])))).toBe(true)
})
