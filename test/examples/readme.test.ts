import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import ts from 'typescript'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Serving, serve } from '../../src/cli/commands/serve.js'
import { readBlocks } from './readme-blocks.mjs'

const run = promisify(execFile)
const root = new URL('../../', import.meta.url)
const page = await readFile(new URL('README.md', root), 'utf8')
let serving: Serving

beforeAll(async () => {
  const inRoot = (path: string): string => new URL(path, root).pathname
  const files = { config: inRoot('examples/team/config.json'), seed: inRoot('examples/team/documents.json') }
  const args = { ...files, port: 0, host: 'localhost', watch: false, processes: 1, cors: [] }
  serving = await serve(args, { print: () => {}, complain: () => {} })
})

afterAll(() => serving.stop())

const COMPILER_OPTIONS: ts.CompilerOptions = {
  strict: true,
  noEmit: true,
  target: ts.ScriptTarget.ES2022,
  lib: ['lib.es2023.d.ts', 'lib.dom.d.ts'],
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  types: [],
}

/** What the compiler says of a program that lies in the root. */
function findFaults(text: string): readonly string[] {
  const file = fileURLToPath(new URL('readme-program.ts', root))
  const host = ts.createCompilerHost(COMPILER_OPTIONS)
  const { getSourceFile } = host
  host.getSourceFile = (name, ...rest) =>
    name === file
      ? ts.createSourceFile(name, text, ts.ScriptTarget.ES2022)
      : getSourceFile.call(host, name, ...rest)
  return ts
    .getPreEmitDiagnostics(ts.createProgram([file], COMPILER_OPTIONS, host))
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))
}

/** Each `$ command` of the page with the lines printed below it. */
function readSession(): readonly { readonly command: string; readonly printed: string }[] {
  const sessions = [...page.matchAll(/^```console\n(.*?)```$/gms)].map(([, session]) => session)
  return sessions
    .join('')
    .split(/^\$ /m)
    .slice(1)
    .map((part) => {
      const [command = '', ...printed] = part.split('\n')
      return { command, printed: printed.join('\n').trim() }
    })
}

test('the commands of the README print what the README says', async () => {
  const steps = readSession()
  expect(steps.length).toBeGreaterThan(10)
  // One shell for all, because they share a variable; a mark stands between what they print.
  const script = steps
    .map(({ command }) => command.replaceAll('http://localhost:3000', serving.origin))
    .join('\necho "<<>>"\n')
  const { stdout } = await run('sh', ['-c', script])
  for (const [i, printed] of stdout.split('<<>>\n').entries()) {
    const expected = steps[i]?.printed ?? ''
    const pattern = expected.split('…').map((text) => text.replace(/[$()*+./?[\\\]^{|}-]/g, '\\$&'))
    expect(printed.trim(), steps[i]?.command).toMatch(new RegExp(`^${pattern.join('[^"]+')}$`))
  }
})

test('the program of the README is right, and prints what the README says', async () => {
  const { text } = readBlocks(page).find(({ language }) => language === 'ts') ?? { text: '' }
  expect(text).toContain('client.batch(')
  expect(findFaults(text)).toEqual([])
  const { outputText } = ts.transpileModule(text, {
    compilerOptions: { ...COMPILER_OPTIONS, module: ts.ModuleKind.ES2022 },
  })
  // Here, as in an installation, the package is found under its name.
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', outputText], {
    cwd: fileURLToPath(root),
  })
  const said = [...text.matchAll(/^console\.log\(.*\) \/\/ (.+)$/gm)].map(([, printed]) => printed)
  expect(stdout.trim().split('\n')).toEqual(said)
})

test('the rules that the README explains are those of the example', async () => {
  const [, block = ''] = /^```json\n(.*?)```$/ms.exec(page) ?? []
  const text = await readFile(new URL('examples/team/config.json', root), 'utf8')
  expect(JSON.parse(text).collections.tasks).toEqual(JSON.parse(block))
})

test('the README stays short, and code begins at once', () => {
  const lines = page.split('\n')
  expect(lines.length).toBeLessThanOrEqual(250)
  expect(lines.findIndex((line) => line.startsWith('```'))).toBeLessThan(15)
})
