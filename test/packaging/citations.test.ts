import { readdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))
const CONTRACT = 'test/contract/CONTRACT.md'

/** A section of the contract, as it is cited: `§3.7`, or `§4, "Login"` where it has no number of its own. */
interface Citation {
  readonly number: string
  readonly title?: string | undefined
}

const print = ({ number, title }: Citation): string =>
  title === undefined ? `§${number}` : `§${number}, "${title}"`

const contract = await readFile(join(root, CONTRACT), 'utf8')

/** What stands in the contract outside of its blocks of code. */
const prose = contract.replaceAll(/^```.*?^```$/gms, '')

/** The parts of the contract, and their sections by the number or title under which each is cited. */
function readSections(): { readonly parts: readonly string[]; readonly sections: readonly Citation[] } {
  const parts: string[] = []
  const sections: Citation[] = []
  for (const [, marks, number, title = ''] of prose.matchAll(/^(##|###) (\d+(?:\.\d+)?)?\.? ?(.+)$/gm)) {
    if (marks === '##' && number !== undefined) parts.push(number)
    else sections.push(number === undefined ? { number: parts.at(-1) ?? '', title } : { number })
  }
  return { parts, sections }
}

const { parts, sections } = readSections()
const known = new Set([...parts.map((number) => `§${number}`), ...sections.map(print)])

const SECTION = String.raw`§\d+(?:\.\d+)?(?:, "[^"]+")*`
const CITATIONS = new RegExp(String.raw`CONTRACT\.md (${SECTION}(?:(?:,| and| to) ${SECTION})*)`, 'g')

/** The sections that a text cites: `CONTRACT.md §2, "Update", "Preconditions", §3.2 to §3.4`. */
function readCitations(text: string): readonly Citation[] {
  // A citation may go on in the next line of a comment.
  const line = text.replaceAll(/\n\s*(?:\*|\/\/)?\s*/g, ' ')
  return [...line.matchAll(CITATIONS)].flatMap(([, list = '']) =>
    [...list.matchAll(/§(\d+(?:\.\d+)?)((?:, "[^"]+")*)/g)].flatMap(([, number = '', titles = '']) => {
      const named = [...titles.matchAll(/"([^"]+)"/g)].map(([, title]) => ({ number, title }))
      return named.length > 0 ? named : [{ number }]
    }),
  )
}

/** The texts of the repository that may cite the contract, by their paths. */
async function readTexts(): Promise<readonly (readonly [path: string, text: string])[]> {
  const folders = ['src', 'docs', 'test', 'examples', '.github'].map(async (folder) =>
    (await readdir(join(root, folder), { recursive: true })).map((file) => `${folder}/${file}`),
  )
  const files = ['README.md', 'CHANGELOG.md', ...(await Promise.all(folders)).flat()].filter(
    (path) => /\.(?:[cm]?[jt]s|md|json)$/.test(path) && path !== 'test/packaging/citations.test.ts',
  )
  return Promise.all(files.map(async (path) => [path, await readFile(join(root, path), 'utf8')] as const))
}

const texts = await readTexts()

test('citations are read in every form', () => {
  const text = 'see CONTRACT.md §2, "Update", "Bulk",\n * §3.2 to §3.4, and CONTRACT.md §4 and §5.'
  expect(readCitations(text).map(print)).toEqual([
    ...['§2, "Update"', '§2, "Bulk"', '§3.2', '§3.4'],
    ...['§4', '§5'],
  ])
})

test('every section that is cited is in the contract', () => {
  const missing = texts.flatMap(([path, text]) =>
    readCitations(text)
      .map(print)
      .filter((citation) => !known.has(citation))
      .map((citation) => `${path}: ${citation}`),
  )
  expect(missing).toEqual([])
})

test('every section of the contract is cited by a test', () => {
  expect(sections.length).toBeGreaterThan(50)
  const tests = texts.filter(([path]) => /\.test(?:-d)?\.ts$/.test(path))
  const cited = new Set(tests.flatMap(([, text]) => readCitations(text).map(print)))
  expect(sections.map(print).filter((section) => !cited.has(section))).toEqual([])
})

/** The name under which a heading of Markdown is linked. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\w\s-]/g, '')
    .replaceAll(' ', '-')

const anchorsOf = (page: string): readonly string[] =>
  [...page.replaceAll(/^```.*?^```$/gms, '').matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    anchorOf(heading),
  )

test('every link to a section leads to one', () => {
  const pages = new Map(texts.filter(([path]) => path.endsWith('.md')))
  const broken = [...pages].flatMap(([path, page]) =>
    [...page.matchAll(/\]\(([^)#:]*)#([^)]+)\)/g)].flatMap(([link, target = '', anchor = '']) => {
      const goal = target === '' ? page : pages.get(join(dirname(path), target))
      return goal !== undefined && anchorsOf(goal).includes(anchor) ? [] : [`${path}: ${link}`]
    }),
  )
  expect(broken).toEqual([])
})
