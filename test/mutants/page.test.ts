import { expect, test } from 'vitest'
import type { Answer } from '../../src/core/http/answer.js'
import type * as Root from '../../src/core/http/routes/root.js'
import type { Exchange } from '../../src/core/http/routes/route.js'
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
const answering = (change: (answer: Answer, exchange: Exchange) => Partial<Answer>): Mutant[2] =>
  breakPage(({ page }) => ({
    page: {
      ...page,
      run(exchange, place) {
        const answer = page.run(exchange, place) as Answer
        return answer.status === 200 ? { ...answer, ...change(answer, exchange) } : answer
      },
    },
  }))

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
        run: (exchange, place) =>
          page.run(Object.create(exchange, { refuseQuery: { value: () => {} } }), place),
      },
    })),
  ],
  ['it says who asks', answering(({ body }, { call }) => ({ body: `${body}${call.caller?.id ?? ''}` }))],
  [
    'it says what there is',
    answering(({ body }, { call }) => ({ body: `${body}${[...call.service.plan.collections.keys()]}` })),
  ],
  ['it says where it is', answering(({ body }, { prefix }) => ({ body: `${body}${prefix}` }))],
  [
    'it says a header again',
    answering(({ body }, { header }) => ({ body: `${body}${header('x-forwarded-prefix') ?? ''}` })),
  ],
  [
    'it is another one for who takes no markup',
    answering(({ body }, { header }) => ({ body: header('accept') === 'application/json' ? '{}' : body })),
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
        run: (exchange, place) => {
          const { call } = exchange
          const given = Object.create(call, { service: { value: { ...call.service, page: PAGE } } })
          return page.run(Object.create(exchange, { call: { value: given } }), place)
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
