import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, expect, test } from 'vitest'

/** What a service keeps is bounded: it takes no more memory the longer it is asked things that all differ. */

const script = fileURLToPath(new URL('support/heap.mjs', import.meta.url))

/** MiB. Beyond that, something is kept of each request. */
const NOTHING = 12
/** Texts of documents are kept up to 64 MiB, with what writes them. */
const TEXTS = 80

/** A large young generation is looked through less often; what is measured is after all is. */
const FLAGS = ['--expose-gc', '--min-semi-space-size=32', '--max-semi-space-size=64']

let growth: { readonly [kind: string]: number }
beforeAll(async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [...FLAGS, script], {
    env: { ...process.env, NODE_ENV: 'test', NODE_OPTIONS: '' },
  })
  growth = JSON.parse(stdout)
})

test.each([
  ['queries of nobody', NOTHING],
  ['queries of one caller', NOTHING],
  ['patterns', NOTHING],
  ['callers', NOTHING],
  ['callers of many teams', NOTHING],
  ['tokens', NOTHING],
  ['sets of roles', NOTHING],
  ['sets of rules', TEXTS],
  ['views of large documents', TEXTS],
])('%s', (kind, most) => {
  expect(growth[kind]).toBeLessThan(most)
})
