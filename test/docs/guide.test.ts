import { access, cp, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  COMPILER_OPTIONS,
  Guide,
  isExcerpt,
  isMigration,
  NOT_RUN,
  NOT_STARTED,
  nameOfProgram,
} from './guide.js'
import { listPages, readPages } from './read-pages.js'

// CONTRACT.md §1 to §9: what the README and the guide say of it, run.

const root = new URL('../../', import.meta.url)
const pages = await readPages(root, [...(await listPages(root)), 'README.md'])

let folder: string

/** A project that has installed the package, and everything that the repository has. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'collection-service-guide-'))
  const modules = join(folder, 'node_modules')
  await mkdir(modules)
  const there = fileURLToPath(new URL('node_modules', root))
  for (const name of await readdir(there))
    if (!name.startsWith('.')) await symlink(join(there, name), join(modules, name))
  await symlink(fileURLToPath(root), join(modules, 'collection-service'))
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
})

afterAll(() => rm(folder, { recursive: true, force: true }))

const folderOf = (path: string): string => join(folder, path.replaceAll('/', '-').replace(/\.md$/, ''))

test('links of the guide lead to files', async () => {
  const links = pages.flatMap(({ path, text }) =>
    [...text.matchAll(/\]\((?!#|\w+:)([^)#]+)/g)].map(([, link = '']) => new URL(link, new URL(path, root))),
  )
  expect(links.length).toBeGreaterThan(50)
  const isThere = (link: URL): Promise<boolean> =>
    access(link).then(
      () => true,
      () => false,
    )
  const found = await Promise.all(links.map(isThere))
  expect(links.filter((_, i) => !found[i])).toEqual([])
})

test('the README is short, and its first code installs the package', () => {
  const { text = '', blocks = [] } = pages.find(({ path }) => path === 'README.md') ?? {}
  expect(text.split('\n').length).toBeLessThanOrEqual(150)
  expect(blocks[0]?.text).toMatch(/^npm install collection-service\n/)
})

test('each exception is needed', () => {
  const blocks = pages.flatMap((page) => page.blocks)
  const lines = blocks.filter(({ language }) => language === 'sh').flatMap(({ text }) => text.split('\n'))
  expect(NOT_RUN.filter(([known]) => !lines.some((line) => known.test(line)))).toEqual([])
  const programs = new Set(blocks.filter(({ language }) => language === 'ts').map(({ title }) => title))
  expect([...NOT_STARTED.keys()].filter((name) => !programs.has(name))).toEqual([])
})

test('the programs of the guide are well typed', async () => {
  const files: string[] = []
  const examples = fileURLToPath(new URL('examples/guide', root))
  for (const { path, blocks } of pages) {
    const programs = blocks.filter(
      ({ language, title }) => language === 'ts' && !isExcerpt(title) && !isMigration(title),
    )
    if (programs.length === 0) continue
    await cp(examples, folderOf(path), { recursive: true })
    for (const { title, text } of programs) {
      const file = join(folderOf(path), nameOfProgram(title))
      await writeFile(file, text)
      files.push(file)
    }
  }
  const program = ts.createProgram(files, COMPILER_OPTIONS)
  const faults = ts.getPreEmitDiagnostics(program).map(({ file, start = 0, messageText }) => {
    const line = file?.getLineAndCharacterOfPosition(start).line ?? 0
    return `${file?.fileName}:${line + 1} ${ts.flattenDiagnosticMessageText(messageText, '\n')}`
  })
  expect(faults).toEqual([])
})

describe.each(pages)('$path', ({ path, text, blocks }) => {
  let guide: Guide

  beforeAll(() => {
    guide = new Guide(folderOf(path))
    return guide.begin()
  })
  afterAll(() => guide.end())

  // Each goes on from those before it.
  if (blocks.length > 0) test.each(blocks)('$place', (block) => guide.take(block))

  test('is short, and begins with what its reader will have', () => {
    expect(text.split('\n').length).toBeLessThanOrEqual(220)
    expect(text).toMatch(/^# .+\n\n(?!#|```|\|)/)
  })
})
