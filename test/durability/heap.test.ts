import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, expect, test } from 'vitest'
import { isLong } from '../support/tier.js'

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

/** A service keeps 2 MiB of patterns and 16 MiB of what their searches have found out. */
const PATTERNS = 18

test('long patterns take little more than what is counted of them', async () => {
  const patterns = fileURLToPath(new URL('support/pattern-heap.mjs', import.meta.url))
  const count = isLong ? 10_000 : 500
  const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', patterns, String(count)], {
    env: { ...process.env, NODE_ENV: 'test', NODE_OPTIONS: '' },
  })
  expect(Number(stdout)).toBeLessThan(1.5 * PATTERNS)
})
