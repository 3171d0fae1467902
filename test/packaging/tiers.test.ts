import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { hasChanged, LEFT_TO_FULL, listUnchanged, readAreas, readSeed } from '../tiers.js'

const MUTANTS = readdirSync('test/mutants').filter((name) => name.endsWith('.test.ts'))

test('the files that are left to full runs are there', () => {
  expect(LEFT_TO_FULL.filter((file) => !existsSync(file))).toEqual([])
})

test.each(MUTANTS)('the areas that %s names are there, so that it is not left out for ever', (name) => {
  const areas = readAreas(readFileSync(join('test/mutants', name), 'utf8'))
  expect(areas).not.toEqual([])
  const missing = areas.filter(
    (area) => !existsSync(join('test/mutants', area.endsWith('/') ? area : dirname(area))),
  )
  expect(missing).toEqual([])
})

describe('the area of a mutant has changed', () => {
  test.each([
    ['../../src/core/claims/claims.js', 'src/core/claims/claims.ts', true],
    ['../../src/core/claims/claims.js', 'src/core/claims/claims-along.ts', true],
    ['../../src/core/claims/claims.js', 'src/core/batch/conditions.ts', false],
    ['../../src/core/claims/claims.js', 'src/core/claims/README.md', false],
    ['../../src/core/claims/claims.js', 'src/core/claim/claims.ts', false],
    ['../../src/tools/insight/', 'src/tools/insight/diff/compare.ts', true],
    ['../../src/tools/insight/', 'src/tools/insights.ts', false],
    ['../../examples/teams/', 'examples/teams/config.json', true],
  ])('%s with %s: %s', (area, file, has) => {
    expect(hasChanged(area, [file])).toBe(has)
  })

  test('and its file is run, by itself or by the folder that it names in a constant', () => {
    const runs = (file: string) =>
      MUTANTS.filter((name) => !listUnchanged([file]).includes(`test/mutants/${name}`))
    expect(runs('src/core/consumers/lease.ts')).toEqual(['consumers.test.ts', 'stored-names.test.ts'])
    expect(runs('test/mutants/page.test.ts')).toEqual(['page.test.ts'])
    expect(runs('README.md')).toEqual([])
    expect(listUnchanged(undefined)).toEqual([])
  })
})

test('the tests of one storage are run if an adapter has changed, or they have; those of the kit always', () => {
  const isRun = (name: string, changed: string) =>
    !listUnchanged([changed]).includes(`test/adapters/${name}.test.ts`)
  expect(isRun('postgres-pool', 'src/core/errors.ts')).toBe(false)
  expect(isRun('postgres-pool', 'src/adapters/sql/statements.ts')).toBe(true)
  expect(isRun('postgres-pool', 'test/adapters/postgres-pool.test.ts')).toBe(true)
  for (const kit of ['memory', 'sqlite', 'postgres']) expect(isRun(kit, 'src/core/errors.ts')).toBe(true)
})

test('the seed is the one that is given, or the same for each run of a commit', () => {
  const { SEED } = process.env
  try {
    process.env.SEED = '7'
    expect(readSeed(true)).toBe(7)
    process.env.SEED = 'x'
    expect(() => readSeed(false)).toThrow('SEED')
    delete process.env.SEED
    expect(readSeed(false)).toBe(readSeed(false))
  } finally {
    process.env.SEED = SEED
  }
})

test('what tests draw at random follows from the seed, but for the races of `test/durability`', () => {
  const folders = [
    'adapters',
    'cli',
    'client',
    'contract',
    'examples',
    'mounts',
    'mutants',
    'property',
    'security',
    'unit',
  ]
  const files = folders.flatMap((folder) =>
    readdirSync(`test/${folder}`, { recursive: true, encoding: 'utf8' }).map(
      (name) => `test/${folder}/${name}`,
    ),
  )
  const drawing = files.filter(
    (file) => file.endsWith('.ts') && /Math\.random\(|from 'fast-check'/.test(readFileSync(file, 'utf8')),
  )
  expect(files.length).toBeGreaterThan(100)
  expect(drawing).toEqual([])
})
