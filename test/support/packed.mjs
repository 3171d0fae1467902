/** The packed package as its users get it, and programs of a registry, each in a temporary folder. */
import { execFile } from 'node:child_process'
import { access, mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

export const root = fileURLToPath(new URL('../..', import.meta.url))

const execute = promisify(execFile)
const OUTPUT = 64 * 2 ** 20

/** What a script of this package tells the npm that it starts is not meant for other folders. */
export const environment = Object.fromEntries(
  Object.entries(process.env).filter(
    ([name]) => !/^npm_(?:config_local_prefix$|package_|lifecycle_)/i.test(name),
  ),
)

/** Runs a program to its end: its exit status and all that it printed. Kills it after `seconds`. */
export async function run(program, args, { cwd, env = {}, seconds = 300 } = {}) {
  const options = { cwd, maxBuffer: OUTPUT, timeout: seconds * 1000, killSignal: 'SIGKILL' }
  try {
    const { stdout, stderr } = await execute(program, args, { ...options, env: { ...environment, ...env } })
    return { status: 0, stdout, stderr }
  } catch (error) {
    const { code, stdout = '', stderr = '' } = error
    return { status: typeof code === 'number' ? code : 1, stdout, stderr: stderr || String(error) }
  }
}

/** The same, for programs that must not fail. */
export async function runSound(program, args, options) {
  const { status, stdout, stderr } = await run(program, args, options)
  if (status !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${status}:\n${stdout}${stderr}`)
  return stdout
}

const INSTALL = [
  'install',
  '--no-audit',
  '--no-fund',
  '--no-package-lock',
  '--loglevel=error',
  '--prefer-offline',
]

/** Installs packages, each with an exact version or from a file, into a folder that may be new. */
export async function install(folder, packages) {
  await runSound('npm', [...INSTALL, '--save-exact', ...packages], { cwd: folder, seconds: 600 })
}

export async function createFolder(name) {
  return mkdtemp(join(tmpdir(), `collection-service-${name}-`))
}

/** Packs what is built; the tarball's path. */
export async function pack(folder) {
  await runSound('npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', folder], { cwd: root })
  const name = (await readdir(folder)).find((file) => file.endsWith('.tgz'))
  if (name === undefined) throw new Error('npm pack left no tarball')
  return join(folder, name)
}

/** A new project that has installed the tarball and the packages. */
export async function createProject(folder, { tarball, packages = [], type = 'module' }) {
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'package.json'), `${JSON.stringify({ private: true, type }, null, 2)}\n`)
  await install(folder, [tarball, ...packages])
  return folder
}

/** The folder of packages that are installed once for all runs. Two runs at once do not disturb each other. */
export async function installOnce(...specs) {
  const cache = join(tmpdir(), 'collection-service-runtimes')
  const folder = join(cache, specs.join('+').replaceAll('/', '+'))
  const isThere = () =>
    access(folder).then(
      () => true,
      () => false,
    )
  if (await isThere()) return folder
  await mkdir(cache, { recursive: true })
  const made = await mkdtemp(join(cache, 'new-'))
  await writeFile(join(made, 'package.json'), '{ "private": true }\n')
  await install(made, specs)
  await rename(made, folder).catch(async (error) => {
    await rm(made, { recursive: true, force: true })
    if (!(await isThere())) throw error
  })
  return folder
}
