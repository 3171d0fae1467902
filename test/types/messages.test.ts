import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { beforeAll, expect, test } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))
/** Beside this file, though it is nowhere. */
const FILE = fileURLToPath(new URL('./messages-of-this.ts', import.meta.url))

/** Lines with a mistake in them, after a `// ` its name. */
const SOURCE = `
import { type CreateBodyOf, createCollectionService, defineConfig, type DocumentOf, type UpdateBodyOf } from '../../src/index.js'
import { createClient } from '../../src/client/client.js'

const config = defineConfig({
  collections: {
    users: { schema: { email: { type: 'string', required: true }, password: { type: 'hash' } } },
    articles: {
      schema: {
        title: { type: 'string', required: true },
        at: { type: 'timestamp' },
        tags: { type: 'array', items: { type: 'string' } },
        author: { type: 'reference', collection: 'users' },
        place: { type: 'object', properties: { city: { type: 'string', required: true } } },
      },
    },
  },
})
const client = createClient(createCollectionService(config))
const articles = client.collection('articles')

export async function use(): Promise<void> {
  const [listed] = await articles.list()
  const [expanded] = await articles.list({ expand: ['author'] })
  const [projected] = await articles.list({ project: ['title', 'place.city'] })
  const created = await articles.create({ title: 'x' })
  client.collection('article') // collection
  type Wrong = DocumentOf<typeof config, 'article'> // type
  created.titel // property
  void articles.create({ titel: 'x' }) // create
  void articles.update('x', { titel: 'x' }) // update
  void articles.list({ q: { titel: 'x' } }) // filter
  void articles.list({ sort: { titel: 1 } }) // sort
  void articles.list({ expand: ['title'] }) // expand
  void articles.list({ project: ['titel'] }) // project
  const [together] = await client.batch((b) => [b.articles.update('x', {})])
  void client.batch((b) => [b.article.get('x')]) // batched collection
  void client.batch((b) => [b.articles.create({ titel: 'x' })]) // batched create
  void client.batch((b) => [b.articles.update('x', { titel: 'x' })]) // batched update
}
export type Document = DocumentOf<typeof config, 'articles'>
export type CreateBody = CreateBodyOf<typeof config, 'articles'>
export type UpdateBody = UpdateBodyOf<typeof config, 'articles'>
`

let messages: ReadonlyMap<string, string>
let hoverOf: (name: string) => string

beforeAll(() => {
  const service = ts.createLanguageService({
    getScriptFileNames: () => [FILE],
    getScriptVersion: () => '1',
    getScriptSnapshot: (file) => {
      const text = file === FILE ? SOURCE : ts.sys.readFile(file)
      return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text)
    },
    getCurrentDirectory: () => root,
    getCompilationSettings: () => ({
      strict: true,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      skipLibCheck: true,
      target: ts.ScriptTarget.ES2022,
      lib: ['lib.es2023.d.ts', 'lib.es2024.string.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts'],
      module: ts.ModuleKind.NodeNext,
      moduleResolution: ts.ModuleResolutionKind.NodeNext,
      types: [],
    }),
    getDefaultLibFileName: ts.getDefaultLibFilePath,
    fileExists: (file) => file === FILE || ts.sys.fileExists(file),
    readFile: (file) => (file === FILE ? SOURCE : ts.sys.readFile(file)),
    directoryExists: ts.sys.directoryExists,
  })
  messages = new Map(
    service.getSemanticDiagnostics(FILE).map(({ start = 0, messageText }) => {
      const line = SOURCE.slice(start).split('\n')[0] ?? ''
      return [line.split('// ')[1] ?? line, ts.flattenDiagnosticMessageText(messageText, '\n')]
    }),
  )
  hoverOf = (name) => {
    const place = new RegExp(`(?:const \\[?|type )${name}\\b`).exec(SOURCE)
    const at = place ? place.index + place[0].length - name.length : 0
    return ts.displayPartsToString(service.getQuickInfoAtPosition(FILE, at)?.displayParts)
  }
})

/** What types are made by, which tells nobody anything. */
const WORKINGS =
  /\b(?:Flat|KeyOf|Shown\w*|Expanded|Projected|SystemFields|CollectionName|ReferenceOf|PathOf|SortOf|\w+Fields|DocumentFilter)</

test('every mistake has a message, and nothing else has one', () => {
  expect([...messages.keys()].sort()).toEqual(
    [
      ...['collection', 'create', 'expand', 'filter', 'project', 'property', 'sort', 'type', 'update'],
      ...['batched collection', 'batched create', 'batched update'],
    ].sort(),
  )
})

test('no message shows how a type came about', () => {
  expect([...messages].filter(([, message]) => WORKINGS.test(message))).toEqual([])
})

test.each([
  ['collection', '"users" | "articles"'],
  ['type', '"users" | "articles"'],
  ['expand', 'not assignable to type \'"author"\''],
  ['property', "Did you mean 'title'?"],
  ['create', "Did you mean to write 'title'?"],
  ['update', "Did you mean to write 'title'?"],
  ['filter', "Did you mean to write 'title'?"],
  ['sort', "Did you mean to write 'title'?"],
  ['project', 'Did you mean \'"title"\'?'],
  ['batched collection', "Did you mean 'articles'?"],
  ['batched create', "Did you mean to write 'title'?"],
  ['batched update', "Did you mean to write 'title'?"],
])('the message of a wrong %s says what is allowed: %s', (name, allowed) => {
  expect(messages.get(name)).toContain(allowed)
})

const DOCUMENT = `{
    readonly _id: string;
    readonly title: string;
    readonly at?: string;
    readonly tags?: readonly string[];
    readonly author?: string;
    readonly place?: {
        readonly city: string;
    };
    readonly createdAt: string;
    readonly updatedAt: string;
    readonly createdBy: string | null;
}`

const USER = `{
        readonly _id: string;
        readonly email: string;
        readonly createdAt: string;
        readonly updatedAt: string;
        readonly createdBy: string | null;
    }`

test.each([
  ['listed', `const listed: ${DOCUMENT} | undefined`],
  ['created', `const created: ${DOCUMENT}`],
  ['together', `const together: ${DOCUMENT}`],
  ['Document', `type Document = ${DOCUMENT}`],
  [
    'expanded',
    `const expanded: ${DOCUMENT.replace('author?: string', `author?: string | ${USER}`)} | undefined`,
  ],
  [
    'projected',
    `const projected: {
    readonly _id: string;
    readonly title: string;
    readonly place?: {
        readonly city: string;
    };
} | undefined`,
  ],
  [
    'CreateBody',
    `type CreateBody = {
    readonly title: string;
    readonly at?: string | Date;
    readonly tags?: readonly string[];
    readonly author?: string;
    readonly place?: {
        readonly city: string;
    };
}`,
  ],
  [
    'UpdateBody',
    `type UpdateBody = {
    readonly title?: string;
    readonly at?: string | Date | null;
    readonly tags?: readonly string[] | null;
    readonly author?: string | null;
    readonly place?: {
        readonly city?: string;
    } | null;
}`,
  ],
])('hovering over %s shows plain properties', (name, expected) => {
  expect(hoverOf(name)).toBe(expected)
})
