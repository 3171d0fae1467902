import { access, mkdir, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import type { InitArguments } from '../arguments/parse-arguments.js'
import { FileError } from '../read-json-file.js'
import { TEMPLATES, type Template } from './templates.js'

const ORIGIN = 'http://localhost:3000'

/**
 * Writes a first configuration, documents and a test into a folder, and prints what to do next. Throws
 * `FileError`; where one of these files exists, nothing is written.
 */
export async function init(
  { template: name, folder }: InitArguments,
  print: (line: string) => void,
): Promise<void> {
  const template: Template = TEMPLATES[name]
  const names = Object.keys(template.files)
  await refuseOverwriting(folder, names)
  await mkdir(folder, { recursive: true }).catch(refuse(folder))
  for (const [file, text] of Object.entries(template.files)) {
    const path = join(folder, file)
    // Also refuses a file that has appeared in the meantime.
    await writeFile(path, text, { flag: 'wx' }).catch(refuse(path))
  }
  const place = folder === '.' ? '' : ` in ${folder}`
  print(`Wrote ${names.join(', ')}${place}: ${template.about}.\n`)
  print(describeSteps(template, folder))
}

async function refuseOverwriting(folder: string, names: readonly string[]): Promise<void> {
  const found: string[] = []
  for (const name of names) {
    const path = join(folder, name)
    await access(path).then(
      () => found.push(path),
      () => {},
    )
  }
  if (found.length === 0) return
  const verb = found.length === 1 ? 'is' : 'are'
  throw new FileError(
    `${found.join(', ')} ${verb} there already; init overwrites nothing, and has written nothing`,
  )
}

const refuse =
  (path: string) =>
  ({ code }: NodeJS.ErrnoException): never => {
    throw new FileError(`${path} cannot be written: ${code}`)
  }

/** What to type next. */
function describeSteps({ tries }: Template, folder: string): string {
  const preparation = [
    ...(folder === '.' ? [] : [`cd ${quote(folder)}`]),
    ...(isInstalled(folder) ? [] : ['npm install collection-service']),
  ]
  const steps: readonly (readonly [about: string, lines: readonly string[]])[] = [
    ['Serve it, and edit config.json meanwhile:', ['npx collection-service --seed documents.json --watch']],
    ['Try it, in another terminal:', tries(ORIGIN)],
    ['Check who may do what:', ['node --test']],
  ]
  const [first = '', ...rest] = steps.map(([about, lines], i) =>
    [about, ...(i === 0 ? preparation : []), ...lines].join('\n  '),
  )
  return [first, ...rest, WARNING].join('\n\n')
}

const WARNING =
  'Everybody knows the passwords in documents.json. Change them before anybody else can reach this.'

/** Whether programs in a folder find this package. */
function isInstalled(folder: string): boolean {
  try {
    createRequire(join(resolve(folder), 'config.json')).resolve('collection-service')
    return true
  } catch {
    return false
  }
}

/** A name, quoted as one word of a shell. */
const quote = (name: string): string =>
  /^[\w./-]+$/.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`
