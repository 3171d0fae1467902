import { afterEach, vi } from 'vitest'
import type { createCollectionService } from '../../src/index.js'

/** A module that is broken on purpose, named from this folder. */
export type Mutant = readonly [
  what: string,
  module: string,
  replace: (original: () => Promise<unknown>) => Promise<object>,
]

const replaced = new Set<string>()
afterEach(() => {
  for (const module of replaced) vi.doUnmock(module)
  replaced.clear()
  vi.resetModules()
})

/** What `load` imports, with a broken module in it, until the test ends. */
export async function loadMutant<T>([, module, replace]: Mutant, load: () => Promise<T>): Promise<T> {
  vi.resetModules()
  // What a mutant answers is judged by others.
  vi.doMock('../support/judged-respond.js', () => import('../../src/core/http/respond.js'))
  replaced.add(module)
  vi.doMock(module, replace as never)
  return load()
}

/** The library with a broken module in it, until the test ends. */
export async function createMutant(mutant: Mutant): Promise<typeof createCollectionService> {
  const { createCollectionService: create } = await loadMutant(
    mutant,
    () => import('../../src/core/create-service.js'),
  )
  return create
}

/** True when a suite finds a counterexample. */
export const fails = (suite: Promise<unknown>): Promise<boolean> =>
  suite.then(
    () => false,
    () => true,
  )
