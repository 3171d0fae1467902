/**
 * Runs the scenarios on the packed package in every runtime that it is for. The runtimes come from npm, are kept in the
 * system's temporary folder, and are pinned: another version is a change like any other.
 */
import { access, copyFile, cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { findChromium } from '../page/browser.mjs'
import { createFolder, createProject, installOnce, pack, root, run } from '../support/packed.mjs'
import { judgeCommand, judgeExample, judgeWithout } from './sqlite-command.mjs'
import { judgeAlone, judgeTogether } from './sqlite-together.mjs'

const here = import.meta.dirname
const platform = `${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`
const NODE_22 = `node-${platform}@22.23.3`
// Its SQLite, and that of Node 22.23, is one that the adapter uses.
const NODE_24 = `node-${platform}@24.22.3`
const BUN = 'bun@1.4.5'
const DENO = 'deno@2.9.6'
// The first that brings a workerd; it needs node 22.
const MINIFLARE = 'miniflare@4.20260730.0'
const LIBSQL = '@libsql/client@0.18.0'
const WASM = '@sqlite.org/sqlite-wasm@3.54.1-build1'

const SCRIPTS = [
  ...['in-process.mjs', 'scenarios.mjs', 'run-kit.mjs', 'sqlite-kit.mjs', 'sqlite-writer.mjs'],
  ...['libsql-kit.mjs', 'libsql-server.mjs', 'libsql-cut.mjs', 'wasm-kit.mjs', 'kit-in-opfs.mjs'],
]

/** The example of a server for a runtime. */
const EXAMPLES = { Bun: 'bun.ts', Deno: 'deno.ts' }

/** One step is older than CONTRACT.md §3.8, by which a project of names is as good as a JSON array. */
const OLDER = { 'GET /people?project=name': 'it is held against an earlier rule' }

/** What a runtime cannot do, by a part of the failing line. One that is not needed any more is a failure too. */
const EXPLAINED = {
  Bun: {
    'TRACE2 /items':
      'a Request of Bun has no method that Bun does not know: `new Request` takes TRACE2 for GET',
  },
  workerd: {
    'TRACE2 /items':
      'a Request of workerd has no method that workerd does not know: `new Request` throws at TRACE2',
  },
}

/** The scripts that open a page in Chromium, with their titles. */
const IN_CHROMIUM = {
  'opfs.mjs': 'a page in Chromium',
  'opfs-kit.mjs': 'the kit in Chromium',
  'opfs-kills.mjs': 'kills of a page in Chromium',
}

/** The scripts that run in workerd over its storages, with their titles. */
const ON_CLOUDFLARE = {
  'workerd-kit.mjs': 'the kit on Durable Objects and D1',
  'workerd-examples.mjs': 'examples for Durable Objects and D1',
  'workerd-kills.mjs': 'kills',
}

const commandOf = async (spec, name) => join(await installOnce(spec), 'node_modules', '.bin', name)

/** The cases that the library passes, as continuous integration asks for them. */
const [, level] = /^LEVEL=(\d+)$/m.exec(await readFile(join(root, '.ci', 'run'), 'utf8')) ?? []
const LEVEL = ['--level', String(level)]
const conformanceSource = join(root, '..', 'shared', 'conformance')
const hasConformance = await access(join(conformanceSource, 'run.mjs')).then(
  () => true,
  () => false,
)

let passed = 0
let failed = 0

/** Counts what a run printed. */
function judge(runtime, what, { status, stdout, stderr }, explained = {}) {
  const [, good, bad] = /(\d+) passed, (\d+) failed\s*$/.exec(stdout) ?? []
  if (good === undefined) {
    failed += 1
    console.log(`✗ ${runtime} › ${what} ended with ${status}\n${stdout}${stderr}`)
    return
  }
  const lines = stdout.split('\n').filter((line) => line.startsWith('✗ '))
  const known = Object.entries(explained)
  const reasonOf = (line) => known.find(([part]) => line.includes(part))?.[1]
  const unexplained = lines.filter((line) => reasonOf(line) === undefined)
  const unneeded = known.filter(([part]) => !lines.some((line) => line.includes(part)))
  const wrong = Number(bad) - (lines.length - unexplained.length) + unneeded.length
  passed += Number(good)
  failed += wrong
  console.log(`${wrong === 0 ? '✓' : '✗'} ${runtime} › ${what}: ${good} passed, ${wrong} failed`)
  for (const line of lines) {
    const reason = reasonOf(line)
    console.log(reason === undefined ? `  ${line}` : `  cannot: ${line.slice(2)} (${reason})`)
  }
  for (const [part] of unneeded) console.log(`  ✗ ${part} is explained and does not fail`)
  if (unexplained.length > 0) console.log(stdout.replace(/^/gm, '    '))
}

const TYPED = `import { defineConfig } from 'collection-service'
const maxLimit: number = 10
export default defineConfig({ collections: { notes: { schema: {} } }, limits: { maxLimit } })
`

/** Whether the command takes a configuration in TypeScript where Node runs it, and elsewhere names the remedies. */
async function checkTyped(program, version, project) {
  await writeFile(join(project, 'typed.mts'), TYPED)
  const command = join('node_modules', 'collection-service', 'dist', 'cli.js')
  const { status, stdout, stderr } = await run(program, [command, 'check', 'typed.mts'], { cwd: project })
  const [major, minor] = version.split('.').map(Number)
  const isRun = major > 22 || (major === 22 && minor >= 18)
  const isRight = isRun ? status === 0 && stderr === '' : status === 2 && stderr.includes('npx tsx ')
  return isRight
    ? { status: 0, stdout: '1 passed, 0 failed', stderr: '' }
    : { status: 1, stdout: `✗ check typed.mts ended with ${status}: ${stdout}\n0 passed, 1 failed`, stderr }
}

/** What a check prints whose failures are known. */
const told = (failures, checks = 1) => ({
  status: 0,
  stdout: [
    ...failures.map((failure) => `✗ ${failure}`),
    `${Math.max(0, checks - failures.length)} passed, ${failures.length} failed`,
  ].join('\n'),
  stderr: '',
})

const folder = await createFolder('runtimes')
try {
  const project = await createProject(join(folder, 'project'), { tarball: await pack(folder) })
  for (const file of SCRIPTS) await copyFile(join(here, file), join(project, file))
  for (const file of ['config.json', 'opfs.ts', 'opfs-page.ts', ...Object.values(EXAMPLES)])
    await copyFile(join(root, 'examples', file), join(project, file))
  const conformance = hasConformance ? join(project, 'conformance') : undefined
  // In the project: where Deno looks for packages depends on where a script lies.
  if (conformance) await cp(conformanceSource, conformance, { recursive: true })

  const node24 = await commandOf(NODE_24, 'node')
  const runtimes = [
    ['Node', [process.execPath]],
    ['Node', [await commandOf(NODE_22, 'node')]],
    ['Node', [node24]],
    ['Bun', [await commandOf(BUN, 'bun')]],
    ['Deno', [await commandOf(DENO, 'deno'), 'run', '--allow-all']],
  ]
  const writers = []
  for (const [name, [program, ...args]] of runtimes) {
    const version = /\d+\.\d+\.\d+/.exec((await run(program, ['--version'])).stdout)?.[0]
    const start = (script, ...more) =>
      run(program, [...args, script, ...more], { cwd: project, seconds: 900 })
    judge(`${name} ${version}`, 'scenarios', await start('in-process.mjs'))
    if (name === 'Node')
      judge(`${name} ${version}`, 'TypeScript', await checkTyped(program, version, project))
    const runtime = { name: `${name} ${version}`, program, args, folder: project }
    // The package better-sqlite3 is installed beside these tests for this runtime, and not in the project.
    writers.push(program === process.execPath ? { ...runtime, folder: here } : runtime)
    const hasSqlite = name !== 'Node' || Number.parseInt(version, 10) >= 22
    if (!hasSqlite) judge(runtime.name, 'no SQLite', told(await judgeWithout(runtime)))
    if (hasSqlite) {
      judge(runtime.name, 'SQLite', await start('sqlite-kit.mjs'))
      const example = EXAMPLES[name]
      if (example) judge(runtime.name, example, told(await judgeExample(runtime, example)))
      judge(runtime.name, 'a SQLite file', told(await judgeCommand(runtime)))
    }
    if (!conformance) continue
    for (const adapter of ['memory', ...(hasSqlite ? ['sqlite'] : [])]) {
      const where = ['--package', 'node_modules/collection-service', '--adapter', adapter]
      const result = await start(join('conformance', 'run.mjs'), ...where, ...LEVEL)
      judge(runtime.name, `conformance, ${adapter}`, result, { ...OLDER, ...EXPLAINED[name] })
    }
  }
  const { failures, checks, acknowledged } = await judgeTogether(writers)
  judge('all', `one SQLite file, and ${acknowledged} writes before kills`, told(failures, checks))

  const libsql = await installOnce(LIBSQL)
  const writer = { name: 'libSQL', program: process.execPath, args: [], folder: project, libsql }
  const startHere = (...args) =>
    run(process.execPath, ['--expose-gc', ...args], { cwd: project, seconds: 900 })
  for (const how of ['file', 'http'])
    judge('libSQL', `by ${how}`, await startHere('libsql-kit.mjs', libsql, how))
  judge('libSQL', 'broken connections', await startHere('libsql-cut.mjs', libsql))
  const alone = await judgeAlone([writer])
  judge('libSQL', `${alone.acknowledged} writes before kills`, told(alone.failures, alone.checks))
  const wasm = join(await installOnce(WASM), 'node_modules', '@sqlite.org', 'sqlite-wasm')
  judge('WebAssembly', 'in memory', await startHere('wasm-kit.mjs', wasm))
  if (findChromium())
    for (const [script, what] of Object.entries(IN_CHROMIUM))
      judge(
        'WebAssembly',
        what,
        await run(process.execPath, [join(here, script), project, wasm], { seconds: 900 }),
      )
  else console.log('There is no Chromium on this machine: no page opens its files.')

  if (conformance) {
    const stand = join(project, 'package-over')
    await mkdir(stand)
    await writeFile(join(stand, 'package.json'), '{ "type": "module", "exports": "./package-over.mjs" }\n')
    await copyFile(join(here, 'package-over.mjs'), join(stand, 'package-over.mjs'))
    for (const [name, STORAGE, STORAGE_PACKAGE] of [
      ['libSQL', 'libsql', libsql],
      ['WebAssembly', 'wasm', wasm],
    ]) {
      const env = { STORAGE, STORAGE_PACKAGE }
      const args = [join('conformance', 'run.mjs'), '--package', stand, ...LEVEL]
      judge(
        name,
        'conformance',
        await run(process.execPath, args, { cwd: project, env, seconds: 900 }),
        OLDER,
      )
    }
  }

  const miniflare = await installOnce(MINIFLARE)
  const args = [
    join(here, 'workerd.mjs'),
    project,
    miniflare,
    ...(conformance ? [conformance, String(level)] : []),
  ]
  judge(
    'workerd',
    'all',
    await run(node24, args, { seconds: 900 }),
    conformance && { ...OLDER, ...EXPLAINED.workerd },
  )
  for (const [script, what] of Object.entries(ON_CLOUDFLARE))
    judge('workerd', what, await run(node24, [join(here, script), project, miniflare], { seconds: 900 }))
} finally {
  await rm(folder, { recursive: true, force: true })
}
console.log(`${passed} passed, ${failed} failed`)
process.exit(failed > 0 ? 1 : 0)
