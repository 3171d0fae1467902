import { describe, expect, test } from 'vitest'
import { compile } from './support.js'

// CONTRACT.md §2, "Order of faults"

const schema = { a: { type: 'string' } }

describe('a collection has the stages that it needs', () => {
  test('without features', () => {
    const { namesOf } = compile({ schema })
    expect(namesOf('create')).toEqual(['drop', 'normalise', 'validate', 'faults'])
    expect(namesOf('patch')).toEqual(['drop', 'merge', 'validate', 'faults'])
    expect(namesOf('put')).toEqual(['drop', 'merge', 'validate', 'faults'])
  })

  test('with all of them', () => {
    const others = { schema: { team: { type: 'string' } }, permissions: { '*': true } }
    const { namesOf } = compile({
      schema: {
        a: { type: 'string' },
        team: { type: 'string', immutable: true, default: 'x' },
        other: { type: 'reference', collection: 'others', match: { team: 'team' } },
        pin: { type: 'hash' },
      },
      permissions: { '*': { create: CHECKED, update: CHECKED, read: true } },
      collections: { others },
      hooked: ['things'],
    })
    const end = ['faults', 'secrets', 'hook', 'hashes', 'check']
    const start = ['drop', 'set', 'normalise', 'defaults', 'validate', 'references', 'match']
    expect(namesOf('create')).toEqual([...start, ...end])
    const updating = ['drop', 'set', 'merge', 'immutable', 'references', 'match', 'validate', ...end]
    expect(namesOf('patch')).toEqual(updating)
    expect(namesOf('put')).toEqual(updating)
  })

  test('of the operation that a rule grants', () => {
    const { namesOf } = compile({
      schema,
      permissions: { '*': { create: true, update: CHECKED, read: true } },
    })
    expect(namesOf('create')).not.toContain('check')
    expect(namesOf('create')).not.toContain('set')
    expect(namesOf('put')).toEqual(['drop', 'set', 'merge', 'validate', 'faults', 'check'])
  })

  test('a target of a match has that stage, though it has no reference', () => {
    const match = { type: 'reference', collection: 'things', match: { a: 'a' } }
    const others = { schema: { a: { type: 'string' }, thing: match }, permissions: { '*': true } }
    const { namesOf } = compile({ schema, collections: { others } })
    expect(namesOf('patch')).toEqual(['drop', 'merge', 'match', 'validate', 'faults'])
  })

  test('a default inside an object is one', () => {
    const inside = { type: 'object', properties: { b: { type: 'integer', default: 1 } } }
    expect(compile({ schema: { a: inside } }).namesOf('create')).toContain('defaults')
  })
})

const CHECKED = { set: { a: 'x' }, check: { a: 'x' } }
