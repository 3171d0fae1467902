import { execFile } from 'node:child_process'
import { access, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import ts from 'typescript'
import { expect } from 'vitest'
import { createSqliteAdapter } from '../../src/adapters/sqlite/sqlite-adapter.js'
import type { Handler, ServiceOptions } from '../../src/core/types.js'
import { createCollectionService, createMemoryAdapter } from '../../src/index.js'
import { checkConfig } from '../../src/tools/insight/index.js'
import { createTestHasher } from '../../src/tools/testing/index.js'
import { until } from '../support/until.js'
import { readCurl, readWords } from './curl.js'
import type { Block } from './read-pages.js'
import { fits, mask, readShown } from './shown.js'

const run = promisify(execFile)
const root = new URL('../../', import.meta.url)

export const ORIGIN = 'http://localhost:3000'

type Json = { [name: string]: Json } & object

const readJson = async (path: string): Promise<Json> =>
  JSON.parse(await readFile(new URL(path, root), 'utf8'))

/** Lines of a shell that the test reads and does not run, and why. */
export const NOT_RUN: readonly (readonly [line: RegExp, reason: string])[] = [
  [
    /^npm install( -D)?( [\w@/.-]+)+$/,
    'needs a registry; test/packaging/package.test.ts installs the package',
  ],
  [/^npx collection-service --data app\.db --seed documents\.json$/, 'test/cli/storage.test.ts runs it'],
  [/^npx collection-service grant \S+ \w+ --data app\.db$/, 'test/cli/storage.test.ts runs it'],
  [/^until npx collection-service migrate /, 'test/cli/migrate.test.ts runs the command'],
  [/^npx collection-service (dump|load) |^umask 077$/, 'test/cli/transfer.test.ts runs them'],
  [
    /^npx collection-service (backup|restore) |^npx collection-service (check )?--data try\.db/,
    'test/cli/backup.test.ts runs them',
  ],
  [/^pg_(dump|restore) |^psql /, 'needs a client of at least the version of the server'],
  [
    /^NODE_ENV=production npx collection-service --data app\.db --host 127\.0\.0\.1 --port 3000 --trust-proxy 1 --log json$/,
    'test/operations runs a command with these options',
  ],
  [
    /^sudo |^journalctl |^curl (?:-k|--retry) /,
    'needs the rights and the programs of a server; test/operations has them',
  ],
  [/^sqlite3 -readonly |^psql /, 'test/docs/storage-layout.test.ts runs the SQL in these lines'],
  [/^npx wrangler /, 'needs an account of Cloudflare; test/runtimes runs the examples as their settings say'],
  [/^docker /, 'needs Docker; test/operations/container.mjs runs the command of the Dockerfile'],
  [/^npm ci$/, 'the test itself runs in such a clone'],
  [/^npm test$/, 'the test itself is a part of it'],
]

/** Programs that the compiler checks and the test does not run, and why. */
export const NOT_STARTED: ReadonlyMap<string, string> = new Map([
  ['adapter.test.ts', 'the kit takes ten seconds; test/examples/custom-adapter.test.ts runs it'],
])

/** The lowest `auth.cost` that a configuration may have. */
const LOWEST_COST = 10

/** A copy of an example, with which a page begins. */
const COPYING = /^cp -r node_modules\/collection-service\/examples\/(\w+) \. && cd \1$/

/** Commands that print something and end. */
const PRINTING = /^npx collection-service (check|matrix|diff|explain|types|openapi|migrate) /

/** A server over a file, which keeps its documents when the configuration changes. */
const LASTING = /^npx collection-service --data desk\.db( --seed documents\.json)?$/

/** What a page has said so far: its configuration, the service that serves it, the answer that came last. */
export class Guide {
  readonly #folder: string
  readonly #variables = new Map<string, string>()
  readonly #background: Promise<unknown>[] = []
  #config: Json = {}
  #documents: Json = {}
  #service: Handler | undefined
  /** The last answer, if no block of the page has shown it. */
  #answer: { readonly response: Response; readonly text: string } | undefined
  #delivered: unknown
  /** What the last command or program printed, if no block has shown it. */
  #printed: string | undefined
  /** Whether the service prints mails, which come after the answer. */
  #isMailing = false

  constructor(folder: string) {
    this.#folder = folder
  }

  /** Every page begins with the help desk of the guide. */
  async begin(): Promise<void> {
    await mkdir(this.#folder, { recursive: true })
    await this.#begin('guide')
  }

  async #begin(example: string): Promise<void> {
    this.#config = await readJson(`examples/${example}/config.json`)
    this.#documents = await readJson(`examples/${example}/documents.json`)
    await this.#store()
  }

  async #store(): Promise<void> {
    await this.#service?.close()
    this.#service = undefined
    // Programs hash the passwords of all first documents: cheaply, or a slow machine takes longer than a request may.
    const config = { ...this.#config, auth: { ...this.#config.auth, cost: LOWEST_COST } }
    await writeFile(join(this.#folder, 'config.json'), JSON.stringify(config))
    await writeFile(join(this.#folder, 'documents.json'), JSON.stringify(this.#documents))
  }

  /** Does what a block says, or holds what it shows against what was done. */
  async take(block: Block): Promise<void> {
    if (block.language === 'json') return this.#takeJson(block)
    if (block.language === 'http') return this.#takeAnswer(block)
    if (block.language === 'text') return this.#takePrinted(block)
    if (block.language === 'ts') return this.#takeProgram(block)
    if (block.language === 'sh') {
      for (const line of readLines(block.text)) await this.#takeLine(line.trim())
      return
    }
    throw new Error(`no test knows blocks of ${block.language}`)
  }

  async end(): Promise<void> {
    await this.#service?.close()
  }

  async #takeJson({ title, text }: Block): Promise<void> {
    const value: Json = JSON.parse(text)
    if (isExcerpt(title)) return expect(await readJson(title)).toEqual(value)
    const [, change, file, pointer] = /^(change )?(?:([\w./-]+)#)?(\/.+)$/.exec(title) ?? []
    if (title === 'documents.json') this.#documents = value
    else if (pointer !== undefined) {
      if (file) this.#config = await readJson(file)
      const path = pointer.slice(1).split('/')
      if (change === undefined) expect(this.#find(path)).toEqual(value)
      else this.#put(path, value)
      // Nothing has changed for the service.
      if (change === undefined && file === undefined) return
    } else if (title === 'config.json') this.#config = value
    else throw new Error(`no test knows JSON of ${title}`)
    const config = structuredClone(this.#config)
    for (const production of [false, true]) expect(checkConfig(config, { production })).toEqual([])
    await this.#store()
  }

  #find(path: readonly string[]): unknown {
    return path.reduce<unknown>((place, name) => (place as Json | undefined)?.[name], this.#config)
  }

  #put(path: readonly string[], value: Json): void {
    this.#config = structuredClone(this.#config)
    let place = this.#config
    for (const name of path.slice(0, -1)) {
      const inner = place[name] ?? {}
      place[name] = inner as Json
      place = inner as Json
    }
    place[path.at(-1) ?? ''] = value
  }

  #serve(line = ''): Handler {
    const options: ServiceOptions = {
      openapi: true,
      hasher: createTestHasher(),
      logger: {},
      clientAddress: () => '127.0.0.1',
      background: (promise) => void this.#background.push(promise),
      ...(line.includes('--deliver console')
        ? {
            deliver: (delivery) => {
              this.#delivered = delivery
            },
          }
        : {}),
    }
    const adapter = createMemoryAdapter({ documents: this.#documents as never })
    this.#service = createCollectionService(this.#config as never, adapter, options)
    return this.#service
  }

  async #serveFile(): Promise<void> {
    await this.#service?.close()
    const adapter = createSqliteAdapter({ file: join(this.#folder, 'desk.db') })
    const isEmpty = !(await access(join(this.#folder, 'desk.db')).then(
      () => true,
      () => false,
    ))
    const options = { hasher: createTestHasher(), logger: {}, clientAddress: () => '127.0.0.1' }
    const seeded = isEmpty ? { ...adapter, seed: this.#documents as never } : adapter
    this.#service = createCollectionService(this.#config as never, seeded, options)
    await this.#service.ready()
  }

  /** Serves examples/helpdesk as its server.ts does. It prints mails, as they are sent after commit. */
  async #startHelpDesk(): Promise<void> {
    const { createHelpDesk } = await import('../../examples/helpdesk/help-desk.js')
    await this.#service?.close()
    const sendMail = async (to: string, subject: string, text: string): Promise<void> => {
      this.#printed = `to ${to}: ${subject}\n${text}`
    }
    const adapter = createMemoryAdapter({ documents: this.#documents as never })
    const options = { hasher: createTestHasher(), logger: {}, clientAddress: () => '127.0.0.1' }
    this.#service = createHelpDesk(adapter, sendMail, options).service
    await this.#service.ready()
    this.#isMailing = true
  }

  /** What `init` writes: test/cli/init.test.ts runs the command. */
  async #init(template: string): Promise<void> {
    const folder = template === 'teams' ? 'examples' : 'src/tools/cli/commands/templates'
    this.#config = await readJson(`${folder}/${template}/config.json`)
    this.#documents = await readJson(`${folder}/${template}/documents.json`)
    await this.#store()
  }

  async #takeLine(line: string): Promise<void> {
    const words = line.replace(/\s+#.*$/, '')
    if (words === '' || line.startsWith('#')) return
    if (NOT_RUN.some(([known]) => known.test(words))) return
    const [, example] = COPYING.exec(words) ?? []
    if (example !== undefined) return this.#begin(example)
    if (words === 'npx tsx server.ts') return this.#startHelpDesk()
    const [, template] = /^npx collection-service init (\w+)$/.exec(words) ?? []
    if (template !== undefined) return this.#init(template)
    if (PRINTING.test(words)) return this.#runCommand(words)
    if (LASTING.test(words)) return this.#serveFile()
    if (/^npx collection-service( --(seed documents\.json|watch|deliver console))+$/.test(words)) {
      await this.#service?.close()
      await this.#serve(words).ready()
      return
    }
    const [, name, property] = /^([A-Z]+)=…\s+# the "(\w+)" /.exec(line) ?? []
    if (name !== undefined && property !== undefined) return this.#keep(name, property)
    if (/^node (--test )?[\w./-]+\.ts$/.test(words)) return
    await this.#request(words)
  }

  #keep(name: string, property: string): void {
    const body: unknown = this.#answer === undefined ? undefined : JSON.parse(this.#answer.text)
    const places = [Array.isArray(body) ? body[0] : body, this.#delivered]
    const value = places.map((place) => (place as Json | undefined)?.[property]).find(Boolean)
    if (typeof value !== 'string') throw new Error(`the answer has no ${property}`)
    this.#variables.set(name, value)
  }

  async #request(line: string): Promise<void> {
    this.#expectSuccess()
    const request = readCurl(readWords(line, this.#variables), ORIGIN)
    const response = await (this.#service ?? this.#serve())(request)
    await Promise.all(this.#background)
    const isStream = response.headers.get('content-type') === 'text/event-stream'
    const text = isStream ? await readFirst(response) : await response.text()
    this.#answer = { response, text }
  }

  /** An answer that no block shows is one that went well. */
  #expectSuccess(): void {
    if (this.#answer) expect(this.#answer.response.status, this.#answer.text).toBeLessThan(300)
  }

  #takeAnswer({ text }: Block): void {
    const [head = '', ...rest] = text.split('\n\n')
    const [first, ...headers] = head.trim().split('\n')
    const { response, text: body } = this.#answer ?? {}
    if (!response || body === undefined) throw new Error('no request comes before this answer')
    this.#answer = undefined
    expect(first).toMatch(/^HTTP\/1\.1 \d{3} \w/)
    expect(`HTTP/1.1 ${response.status}`, body).toBe(first?.slice(0, 12))
    for (const header of headers) {
      const [name = '', value = ''] = header.split(/: (.*)/s)
      const given = response.headers.get(name) ?? ''
      expect(given === '' || !fits(value, given) ? `${name}: ${given}` : header).toBe(header)
    }
    const shown = rest.join('\n\n').trim()
    if (shown === '') return
    if (!/json/.test(response.headers.get('content-type') ?? '')) {
      expect(fits(shown, body.trim()) ? shown : body).toBe(shown)
      return
    }
    const expected = readShown(shown)
    expect(mask(JSON.parse(body), expected)).toEqual(expected)
    this.#answer = { response: new Response(null), text: body }
  }

  async #runCommand(line: string): Promise<void> {
    const [, ...words] = readWords(line, this.#variables)
    const command = fileURLToPath(new URL('dist/cli.js', root))
    const printed = await run(process.execPath, [command, ...words.slice(1)], { cwd: this.#folder }).catch(
      (failed: { readonly stdout: string; readonly code: unknown }) => {
        // A block shows what `check` has found.
        if (words[1] !== 'check' || failed.code !== 1) throw failed
        return failed
      },
    )
    this.#printed = printed.stdout
  }

  async #takeProgram({ title, text }: Block): Promise<void> {
    if (isExcerpt(title)) return expect(await readFile(new URL(title, root), 'utf8')).toContain(text)
    if (isMigration(title)) {
      await mkdir(join(this.#folder, 'migrations'), { recursive: true })
      return writeFile(join(this.#folder, title), text)
    }
    const file = nameOfProgram(title)
    if (NOT_STARTED.has(file)) return
    const { outputText } = ts.transpileModule(text, {
      compilerOptions: { ...COMPILER_OPTIONS, module: ts.ModuleKind.ES2022 },
    })
    await writeFile(join(this.#folder, file.replace(/ts$/, 'js')), outputText)
    const flags = file.endsWith('.test.ts') ? ['--test'] : []
    const preload = new URL('listen-once.mjs', import.meta.url).href
    const args = ['--import', preload, ...flags, file.replace(/ts$/, 'js')]
    const { stdout } = await run(process.execPath, args, { cwd: this.#folder, env: ENVIRONMENT })
    const said = [...text.matchAll(/\bconsole\.log\(.*\) \/\/ (.+)$/gm)].map(([, printed = '']) => printed)
    if (said.length === 0) {
      this.#printed = stdout
      return
    }
    const lines = stdout.trim().split('\n')
    expect(lines.map((line, i) => (fits(said[i] ?? '', line) ? said[i] : line))).toEqual(said)
  }

  async #takePrinted({ text }: Block): Promise<void> {
    if (this.#isMailing) await until(() => this.#printed !== undefined)
    const printed = this.#printed?.trim() ?? ''
    this.#printed = undefined
    const shown = text.trim()
    const lines = printed.split('\n').map((line) => line.trimEnd())
    expect(fits(shown, lines.join('\n'), '.*?') ? shown : lines.join('\n')).toBe(shown)
  }
}

/** The lines of a shell: one goes on after a backslash, and within single quotes. */
const readLines = (text: string): readonly string[] =>
  text.replaceAll(/\\\n\s*/g, '').match(/^(?:'[^']*'|[^'\n])+$/gm) ?? []

const ENVIRONMENT = { ...process.env, NODE_ENV: 'test', NO_COLOR: '1', NODE_OPTIONS: '' }

/** Whether a block is a part of a file of the examples, named by its path, and no program of its own. */
export const isExcerpt = (title: string): boolean => title.startsWith('examples/')

/** Whether a block is a migration, which the command loads from its folder. */
export const isMigration = (title: string): boolean => /^migrations\/[\w-]+\.mjs$/.test(title)

/** The file that a program is written to: modules of a page import each other by it. */
export const nameOfProgram = (title: string): string => {
  if (!/^[\w-]+(\.test)?\.ts$/.test(title))
    throw new Error(`a program needs the name of a file, not ${title}`)
  return title
}

export const COMPILER_OPTIONS: ts.CompilerOptions = {
  strict: true,
  noUncheckedIndexedAccess: true,
  noEmit: true,
  target: ts.ScriptTarget.ES2022,
  lib: ['lib.es2023.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts', 'lib.dom.asynciterable.d.ts'],
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  resolveJsonModule: true,
  skipLibCheck: true,
  types: ['node'],
}

/** What a stream has sent before it waits. */
async function readFirst(response: Response): Promise<string> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  const { value = '' } = (await reader?.read()) ?? {}
  await reader?.cancel()
  return value
}
