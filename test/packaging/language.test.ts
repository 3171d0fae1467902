import { readdir, readFile, stat } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

/** Plain English, in code, messages and pages: `.github/CONTRIBUTING.md`, "Rules". */

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

const WRITTEN = [
  'src',
  'docs',
  'examples',
  '.github',
  'README.md',
  'CHANGELOG.md',
  'test/contract/CONTRACT.md',
]

/** What is said more plainly in other words; by what it is, what it is not. */
const STILTED: readonly RegExp[] = [
  /\bwhoever\b/i,
  /\blest\b/i,
  /\bto be\b/i,
  /(?<!\bthere )(?<!\bThere )\b(is|are|was|were) no (?!longer\b|more\b)[a-z]/,
]

async function listFiles(place: string): Promise<readonly string[]> {
  if ((await stat(ROOT + place)).isFile()) return [place]
  const names = await readdir(ROOT + place, { recursive: true })
  return names.map((name) => `${place}/${name.replaceAll('\\', '/')}`)
}

const findStilted = (text: string): readonly string[] =>
  text
    .split('\n')
    .flatMap((line, i) => (STILTED.some((words) => words.test(line)) ? [`${i + 1}: ${line.trim()}`] : []))

test('is said plainly', async () => {
  const files = (await Promise.all(WRITTEN.map(listFiles))).flat()
  const texts = files.filter((path) => /\.(ts|tsx|mjs|cjs|md|json|css|yml|yaml)$/.test(path))
  expect(texts.length).toBeGreaterThan(500)
  const found = await Promise.all(
    texts.map(async (path) =>
      findStilted(await readFile(ROOT + path, 'utf8')).map((line) => `${path}:${line}`),
    ),
  )
  expect(found.flat()).toEqual([])
})

test.each(['whoever asks', 'It has to be there.', 'a text is no number'])(
  'what would not be is found: %s',
  (line) => expect(findStilted(line)).toHaveLength(1),
)

test.each(['there is no text', 'what is no longer kept', 'There are no more.', 'a tobe'])(
  'what is plain passes: %s',
  (line) => expect(findStilted(line)).toEqual([]),
)
