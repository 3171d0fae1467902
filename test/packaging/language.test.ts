import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { describe, expect, test } from 'vitest'

/** Plain technical English: `.github/CONTRIBUTING.md`, "Rules". */

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** Openings and words of sentences without a subject that exists in the code. */
const MANNERED =
  /^(?:Who|What|Of|Whom|Whose|Where) |[,;:] for (?:it|the|a|they|that|no) |\banew\b|\bbehind (?:an?|the|that|it)\b|\b(?:nobody|whatever|somebody)\b/
/** The share of the comment lines, and of the messages, that may match. */
const SHARE = 0.01

const OPENING = /^(?:Who|What|Of|Whom|Whose|Where)\b/
const ODD_WORD = /\b(?:anew|nobody|whatever|somebody)\b/i

/** The folders of the tools; all other files belong to the server and what it is made of. */
const TOOLS = new Set([
  'tools',
  'cli',
  'insight',
  'openapi',
  'page',
  'testing',
  'transfer',
  'migrate',
  'client',
  'infer',
])

interface Line {
  readonly place: string
  readonly text: string
}

const listFiles = async (folder: string, ending: RegExp): Promise<readonly string[]> =>
  (await readdir(ROOT + folder, { recursive: true }))
    .map((name) => `${folder}/${name.replaceAll('\\', '/')}`)
    .filter((path) => ending.test(path))
    .sort()

const read = (path: string): Promise<string> => readFile(ROOT + path, 'utf8')

/** The lines of comments, without their marks. A line that continues a sentence counts by itself. */
const commentLines = (path: string, source: string): readonly Line[] =>
  source.split('\n').flatMap((line, i) => {
    const [, text] = /^\s*(?:\/\*\*|\*|\/\/) ?(.*)/.exec(line) ?? []
    return text === undefined ? [] : [{ place: `${path}:${i + 1}`, text }]
  })

/** The texts of a program that people may read: those of several words. */
function messages(path: string, source: string): readonly Line[] {
  const file = ts.createSourceFile(path, source, ts.ScriptTarget.Latest)
  const found: Line[] = []
  const visit = (node: ts.Node): void => {
    if ((ts.isStringLiteralLike(node) || isTemplatePart(node)) && /\w \w+ \w/.test(node.text))
      found.push({
        place: `${path}:${file.getLineAndCharacterOfPosition(node.getStart(file)).line + 1}`,
        text: node.text,
      })
    ts.forEachChild(node, visit)
  }
  visit(file)
  return found
}

const isTemplatePart = (node: ts.Node): node is ts.TemplateHead | ts.TemplateMiddle | ts.TemplateTail =>
  ts.isTemplateHead(node) || ts.isTemplateMiddle(node) || ts.isTemplateTail(node)

/** The sentences of a page, without code and without questions, which begin so. */
const sentences = (path: string, page: string): readonly Line[] =>
  page
    .replaceAll(/^```.*?^```$/gms, (block) => block.replaceAll(/[^\n]/g, ''))
    .split('\n')
    .flatMap((line, i) =>
      line
        .replaceAll(/`[^`]*`/g, 'code')
        .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
        .split(/(?<=[.!?:]) |\| /)
        .map((text) => ({ place: `${path}:${i + 1}`, text: text.replace(/^[\s#>*-]+|^\d+\. /, '') })),
    )
    .filter(({ text }) => !/\?\W*$/.test(text))

const isOdd = (text: string): boolean => OPENING.test(text) || ODD_WORD.test(text)

const print = (lines: readonly Line[]): readonly string[] =>
  lines.map(({ place, text }) => `${place}: ${text}`)

const sources = await Promise.all(
  (await listFiles('src', /(?<!\.d)\.tsx?$/)).map(async (path) => [path, await read(path)] as const),
)
const isTool = ([path]: readonly [path: string, source: string]): boolean =>
  TOOLS.has(path.split('/')[1] ?? '')

describe.each([
  ['the server', sources.filter((file) => !isTool(file))],
  ['the tools', sources.filter(isTool)],
])('%s', (_, files) => {
  test.each([
    ['comments', commentLines, (text: string) => MANNERED.test(text)],
    ['messages', messages, isOdd],
  ] as const)('%s are plain', (_kind, linesOf, isFound) => {
    const lines = files.flatMap(([path, source]) => linesOf(path, source))
    expect(lines.length).toBeGreaterThan(200)
    const found = lines.filter(({ text }) => isFound(text))
    if (found.length > SHARE * lines.length) expect(print(found)).toEqual([])
  })
})

test('pages are plain', async () => {
  const pages = [
    ...(await listFiles('docs', /\.md$/)),
    ...['README.md', 'src/README.md', '.github/CONTRIBUTING.md'],
  ]
  const lines = await Promise.all(pages.map(async (path) => sentences(path, await read(path))))
  expect(print(lines.flat().filter(({ text }) => isOdd(text)))).toEqual([])
})

test('headings of the contract are plain', async () => {
  const headings = sentences('test/contract/CONTRACT.md', await read('test/contract/CONTRACT.md'))
  const contract = await read('test/contract/CONTRACT.md')
  const titles = [...contract.matchAll(/^#+ (?:\d+(?:\.\d+)?\.? )?(.+)$/gm)].map(([, title = '']) => title)
  expect(headings.length).toBeGreaterThan(titles.length)
  expect(titles.filter(isOdd)).toEqual([])
})

test('the changelog of the present version is plain', async () => {
  const [, present = ''] = /^## \[0\.2\.0\][^\n]*\n(.*?)^## /ms.exec(await read('CHANGELOG.md')) ?? []
  expect(present).not.toBe('')
  expect(print(sentences('CHANGELOG.md', present).filter(({ text }) => isOdd(text)))).toEqual([])
})

test.each([
  'What it holds.',
  'Of the fields, those that are shown.',
  'It is made anew.',
  'A list, for it may be long.',
  'The first page behind a place that nobody reads.',
])('another style is found: %s', (line) => expect(MANNERED.test(line)).toBe(true))

test.each([
  'The name of what it holds.',
  'It has to be there.',
  'Whether it is on time, for example.',
  'Office hours.',
])('plain English passes: %s', (line) => expect(MANNERED.test(line)).toBe(false))

test('sentences of pages are found in lines, lists and tables, questions and code are not', () => {
  const page =
    '# Where it is\n\n- Good. What is bad.\n- What is this?\n```\nWhat code\n```\n| a | Who reads |\n'
  const found = sentences('a.md', page).filter(({ text }) => isOdd(text))
  expect(print(found)).toEqual(['a.md:1: Where it is', 'a.md:3: What is bad.', 'a.md:8: Who reads |'])
})
