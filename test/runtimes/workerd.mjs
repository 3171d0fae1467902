/**
 * Runs the scenarios in workerd: node workerd.mjs PROJECT MINIFLARE [CONFORMANCE]. Needs a node that miniflare takes.
 * PROJECT has installed the package, MINIFLARE has installed miniflare, CONFORMANCE is a folder of cases.
 */
import { execFile } from 'node:child_process'
import { copyFile, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { promisify } from 'node:util'

const [project, miniflare, conformance, level] = process.argv.slice(2)
const { Miniflare } = createRequire(join(miniflare, 'package.json'))('miniflare')
// tsup brings it.
const require = createRequire(createRequire(import.meta.url).resolve('tsup'))
const esbuild = require('esbuild')
const here = import.meta.dirname

/**
 * The first day from which workers may compile code while they load, as the validator of bodies does, and may settle
 * one request's promise in another, as requests that wait for their turn to hash need it; and the last one known.
 */
const DAYS = ['2025-06-01', '2026-07-30']

let passed = 0
let failed = 0
const judge = (title, holds) => {
  if (holds) passed += 1
  else {
    failed += 1
    console.log(`✗ ${title}`)
  }
}

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
const script = join(project, 'worker.js')
await esbuild.build({
  entryPoints: [join(here, 'worker.mjs')],
  outfile: script,
  bundle: true,
  format: 'esm',
  platform: 'browser',
  conditions: ['workerd', 'worker', 'browser'],
  target: 'es2022',
  nodePaths: [join(project, 'node_modules')],
  logLevel: 'error',
  plugins: [
    {
      name: 'cases',
      setup(build) {
        build.onResolve({ filter: /^cases$/ }, ({ path }) => ({ path, namespace: 'cases' }))
        build.onLoad({ filter: /.*/, namespace: 'cases' }, () => ({
          contents: JSON.stringify(cases),
          loader: 'json',
        }))
        // The package of the project, not the one around this file.
        build.onResolve({ filter: /^collection-service(?:\/|$)/ }, ({ path, pluginData, kind }) =>
          pluginData === 'project'
            ? undefined
            : build.resolve(path, { kind, resolveDir: project, pluginData: 'project' }),
        )
      },
    },
  ],
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

async function runConformance(origin) {
  const stand = join(project, 'package-in-worker')
  await mkdir(stand, { recursive: true })
  await writeFile(join(stand, 'package.json'), '{ "type": "module", "exports": "./index.mjs" }\n')
  await copyFile(join(here, 'package-in-worker.mjs'), join(stand, 'index.mjs'))
  const keys = cases.map(({ config, options, deliver, clock }) =>
    JSON.stringify([config, options, deliver, clock !== null]),
  )
  const env = { ...process.env, WORKER_URL: origin, WORKER_CASES: JSON.stringify(keys) }
  const args = [join(conformance, 'run.mjs'), '--package', stand, '--level', String(level)]
  const { stdout } = await promisify(execFile)(process.execPath, args, { env, timeout: 300_000 }).catch(
    (error) => error,
  )
  const [, good = 0, bad = 1] = /(\d+) passed, (\d+) failed\s*$/.exec(stdout) ?? []
  console.log(stdout.replace(/\d+ passed, \d+ failed\s*$/, '').trim())
  passed += Number(good)
  failed += Number(bad)
}

for (const compatibilityDate of DAYS) {
  const worker = new Miniflare({ modules: true, script: await readFile(script, 'utf8'), compatibilityDate })
  try {
    const origin = (await worker.ready).origin
    const counts = await (await fetch(`${origin}/scenarios`)).json()
    for (const failure of counts.failures) console.log(`✗ ${compatibilityDate} › ${failure}`)
    passed += counts.passed
    failed += counts.failed
    await judgeRequests(origin)
    if (conformance !== undefined && compatibilityDate === DAYS.at(-1)) await runConformance(origin)
  } catch (error) {
    judge(`${compatibilityDate} › ${error.message}`, false)
  } finally {
    await worker.dispose().catch(() => {})
  }
}
console.log(`${passed} passed, ${failed} failed`)
process.exit(failed > 0 ? 1 : 0)
