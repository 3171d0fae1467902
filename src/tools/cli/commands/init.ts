import type { ArgumentsOf } from '../arguments/commands.js'
import { TEMPLATES, type Template } from './templates.js'
import { prepare, writeFiles } from './write-files.js'

const ORIGIN = 'http://localhost:3000'

/**
 * Writes a first configuration, documents and a test into a folder, and prints the next steps. Throws `FileError`. If
 * one of the files already exists, it writes none.
 */
export async function init(
  { template: name, folder }: ArgumentsOf<'init'>,
  print: (line: string) => void,
): Promise<void> {
  const template: Template = TEMPLATES[name]
  await writeFiles(folder, template.files, 'init')
  const place = folder === '.' ? '' : ` in ${folder}`
  print(`Wrote ${Object.keys(template.files).join(', ')}${place}: ${template.about}.\n`)
  print(describeSteps(template, folder))
}

/** Returns the next steps with their commands. */
function describeSteps({ tries }: Template, folder: string): string {
  const steps: readonly (readonly [about: string, lines: readonly string[]])[] = [
    [
      'Start the server, which restarts when you edit config.json:',
      ['npx collection-service --seed documents.json --watch'],
    ],
    ['Open the admin UI in a browser, and sign in with an account in documents.json:', [`${ORIGIN}/_page`]],
    ['Try the API, in another terminal:', tries(ORIGIN)],
    ['Test the permissions:', ['node --test']],
  ]
  const [first = '', ...rest] = steps.map(([about, lines], i) =>
    [about, ...(i === 0 ? prepare(folder) : []), ...lines].join('\n  '),
  )
  return [first, ...rest, WARNING].join('\n\n')
}

const WARNING =
  'The passwords in documents.json are public. Change them before other machines can reach the server.'
