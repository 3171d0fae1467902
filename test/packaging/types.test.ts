import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type Analysis,
  checkPackage,
  createPackageFromTarballData,
  type Problem,
} from '@arethetypeswrong/core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { pack } from '../support/packed.mjs'

/** How the types are found: from a CommonJS file, from an ECMAScript module, by a bundler. */
const RESOLUTIONS = ['node16-cjs', 'node16-esm', 'bundler'] as const

let folder: string
let analysis: Analysis
let subpaths: readonly string[]

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'collection-service-types-'))
  const tarball = await readFile(await pack(folder))
  const found = await checkPackage(createPackageFromTarballData(new Uint8Array(tarball)))
  if (!found.types) throw new Error('the package has no types')
  analysis = found
  const manifest = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8'))
  subpaths = Object.keys(manifest.exports)
})

afterAll(() => rm(folder, { recursive: true, force: true }))

/**
 * `node10` is what TypeScript calls resolution before there were `exports`: it finds no subpath without a folder of
 * stubs for each. The node versions that this package runs on all know `exports`, and so does every TypeScript since 4.7.
 */
const isOfNode10 = (problem: Problem): boolean =>
  'resolutionKind' in problem && problem.resolutionKind === 'node10'

test('who resolves the types finds the ones that belong to the code', () => {
  expect(analysis.problems.filter((problem) => !isOfNode10(problem))).toEqual([])
})

test('every subpath has types of its own, whichever way it is asked for', () => {
  const typed = subpaths.filter((subpath) => !subpath.endsWith('.json'))
  const filesOf = (kind: (typeof RESOLUTIONS)[number]) =>
    typed.map((subpath) =>
      analysis.entrypoints[subpath]?.resolutions[kind].resolution?.fileName.split('/').pop(),
    )
  const nameOf = (subpath: string) => (subpath === '.' ? 'index' : subpath.slice(2))
  expect(filesOf('node16-cjs')).toEqual(typed.map((subpath) => `${nameOf(subpath)}.d.cts`))
  expect(filesOf('node16-esm')).toEqual(typed.map((subpath) => `${nameOf(subpath)}.d.ts`))
  expect(filesOf('bundler')).toEqual(typed.map((subpath) => `${nameOf(subpath)}.d.ts`))
})

test('the root has types even for resolution without export maps', () => {
  const { resolution } = analysis.entrypoints['.']?.resolutions.node10 ?? {}
  expect(resolution?.fileName).toMatch(/dist\/index\.d\.cts$/)
})
