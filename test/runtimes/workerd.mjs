/**
 * Runs the scenarios in workerd: node workerd.mjs PROJECT MINIFLARE [CONFORMANCE LEVEL]. Needs a node that miniflare takes.
 * PROJECT has installed the package, MINIFLARE has installed miniflare, CONFORMANCE is a folder of cases, which run on each
 * storage that workerd has.
 */
import { execFile } from 'node:child_process'
import { copyFile, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createCounts } from '../support/counts.mjs'
import { bundleWorker, loadMiniflare, STORAGE_OPTIONS } from '../support/workerd.mjs'

const [project, miniflare, conformance, level] = process.argv.slice(2)
const Miniflare = loadMiniflare(miniflare)
const here = import.meta.dirname

/**
 * The first day from which workers may compile code while they load, as the validator of bodies does, and may settle
 * one request's promise in another, as requests that wait for their turn to hash need it; and the last one known.
 */
const DAYS = ['2025-06-01', '2026-07-30']

const { add, judge, end } = createCounts()

async function readCases() {
  if (conformance === undefined) return []
  const folder = join(conformance, 'cases')
  const files = (await readdir(folder)).filter((name) => name.endsWith('.json')).sort()
  const texts = await Promise.all(files.map((file) => readFile(join(folder, file), 'utf8')))
  return texts
    .flatMap((text) => JSON.parse(text))
    .map(({ config, options, deliver = false, clock = null }) => ({
      config,
      options: { production: false, ...options },
      deliver,
      clock,
    }))
}

const cases = await readCases()
const script = await bundleWorker({
  project,
  entry: join(here, 'worker.mjs'),
  values: { cases },
})

/** Requests from outside, each of which workerd answers in a context of its own. */
async function judgeRequests(origin) {
  const register = async (email) => {
    const body = JSON.stringify({ email, password: 'battery staple' })
    return (await fetch(`${origin}/direct/auth/register`, { method: 'POST', body })).status
  }
  const both = await Promise.all([register('ann@example.com'), register('bob@example.com')])
  judge(
    `two requests that register at once: ${both}`,
    both.every((status) => status === 201),
  )
  const list = await (await fetch(`${origin}/direct/lines`)).json()
  judge(`a streamed list of ${list.length}`, list.length === 1600)
}

/** Runs the cases against the services below a URL. */
async function runConformance(storage, url) {
  const stand = join(project, 'package-in-worker')
  await mkdir(stand, { recursive: true })
  await writeFile(join(stand, 'package.json'), '{ "type": "module", "exports": "./index.mjs" }\n')
  await copyFile(join(here, 'package-in-worker.mjs'), join(stand, 'index.mjs'))
  const keys = cases.map(({ config, options, deliver, clock }) =>
    JSON.stringify([config, options, deliver, clock !== null]),
  )
  const env = { ...process.env, WORKER_URL: url, WORKER_CASES: JSON.stringify(keys) }
  const args = [join(conformance, 'run.mjs'), '--package', stand, '--level', String(level)]
  const { stdout } = await promisify(execFile)(process.execPath, args, { env, timeout: 300_000 }).catch(
    (error) => error,
  )
  const [, good = 0, bad = 1] = /(\d+) passed, (\d+) failed\s*$/.exec(stdout) ?? []
  console.log(
    stdout
      .replace(/\d+ passed, \d+ failed\s*$/, '')
      .replaceAll(/^✗ /gm, `✗ ${storage} › `)
      .trim(),
  )
  add(Number(good), Number(bad))
}

/** Runs the cases on Durable Objects and on D1, each case on an empty storage of its own. */
async function judgeStorages() {
  const worker = new Miniflare({
    ...STORAGE_OPTIONS,
    script: await bundleWorker({
      project,
      entry: join(here, 'storages-in-worker.mjs'),
      values: { cases },
    }),
    durableObjects: { STORE: { className: 'Store', useSQLite: true } },
    d1Databases: cases.map((_, place) => `D1_${place}`),
  })
  try {
    const { origin } = await worker.ready
    for (const storage of ['object', 'd1']) await runConformance(storage, `${origin}/${storage}`)
  } catch (error) {
    judge(`Durable Objects and D1 › ${error.message}`, false)
  } finally {
    await worker.dispose().catch(() => {})
  }
}

for (const compatibilityDate of DAYS) {
  const worker = new Miniflare({ modules: true, script, compatibilityDate })
  try {
    const origin = (await worker.ready).origin
    const counts = await (await fetch(`${origin}/scenarios`)).json()
    for (const failure of counts.failures) console.log(`✗ ${compatibilityDate} › ${failure}`)
    add(counts.passed, counts.failed)
    await judgeRequests(origin)
    if (conformance !== undefined && compatibilityDate === DAYS.at(-1)) await runConformance('memory', origin)
  } catch (error) {
    judge(`${compatibilityDate} › ${error.message}`, false)
  } finally {
    await worker.dispose().catch(() => {})
  }
}
if (conformance !== undefined) await judgeStorages()
end()
