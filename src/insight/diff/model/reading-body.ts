import type { Ask } from '../solver/explore.js'
import { isOpaque } from '../solver/variable.js'
import { bodyKey } from './sources.js'

/** What a body names, in one run. */
export interface BodyReader {
  /** Whether it has a property. */
  names(name: string): boolean
  /** Whether a property that it has is `null`. */
  isNull(name: string): boolean
}

/** Reads a body that has no other names than these. */
export function createBodyReader(ask: Ask, known: ReadonlySet<string>): BodyReader {
  const named = new Map<string, boolean>()
  const nulls = new Map<string, boolean>()
  const remember = (decisions: Map<string, boolean>, name: string, decide: () => boolean): boolean => {
    const decided = decisions.get(name) ?? decide()
    decisions.set(name, decided)
    return decided
  }
  return {
    names: (name) =>
      known.has(name.split('.')[0] ?? name) &&
      remember(named, name, () =>
        ask({ kind: 'test', on: bodyKey(name), test: (value) => value !== undefined }),
      ),
    isNull: (name) =>
      remember(nulls, name, () =>
        ask({ kind: 'test', on: bodyKey(name), test: (value) => isOpaque(value) && value.sample === null }),
      ),
  }
}
