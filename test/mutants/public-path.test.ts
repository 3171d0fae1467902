import { expect, test } from 'vitest'
import type * as Respond from '../../src/core/http/respond.js'
import type { RespondOptions } from '../../src/core/http/respond.js'
import { checkPublicPaths } from '../support/path-laws.js'
import { choose } from './choose.js'
import { createMutant, fails, type Mutant } from './create-mutant.js'

/** Paths of requests and paths in answers taken for each other. */

const RESPOND = '../../src/core/http/respond.js'

const withOptions =
  (change: (options: RespondOptions) => Partial<RespondOptions>): Mutant[2] =>
  async (original) => {
    const real = (await original()) as typeof Respond
    return {
      ...real,
      createRespond: (...[service, options]: Parameters<typeof real.createRespond>) =>
        real.createRespond(service, { ...options, ...change(options) }),
    }
  }

const MUTANTS: readonly Mutant[] = [
  ['answers have the path of the requests', RESPOND, withOptions(() => ({ publicPath: undefined }))],
  [
    'requests have the path of the answers',
    RESPOND,
    withOptions(({ basePath, publicPath }) => ({ basePath: publicPath ?? basePath })),
  ],
  [
    'the path of the requests comes after that of the answers',
    RESPOND,
    withOptions(({ basePath, publicPath }) =>
      publicPath === undefined ? {} : { publicPath: publicPath + basePath },
    ),
  ],
]

test.each(choose(MUTANTS))('%s', async (...mutant) => {
  const create = await createMutant(mutant)
  expect(await fails(checkPublicPaths(create))).toBe(true)
})
