import { describe, expect, test } from 'vitest'
import { ConfigError } from '../../src/index.js'
import { createTestService } from '../support/service.js'
import { arrayOf, type Json, objectOf, text, to } from './support/references.js'

// CONTRACT.md §2, "References", "Match"

const people = { schema: { name: text } }
const AT = '/collections/tasks/schema'

function faultsOf(collections: Json): unknown {
  try {
    createTestService({ collections } as never)
    return []
  } catch (thrown) {
    if (!(thrown instanceof ConfigError)) throw thrown
    return thrown.faults.map(({ path }) => path)
  }
}

describe('a "match"', () => {
  const projects = {
    schema: {
      name: text,
      size: { type: 'integer' },
      rate: { type: 'number' },
      at: { type: 'timestamp' },
      team: to('teams'),
      lead: to('people'),
      tags: arrayOf(text),
      o: objectOf({ x: text }),
      key: { type: 'hash' },
      gone: to('teams', { onDelete: 'unset' }),
    },
  }
  const teams = { schema: {} }
  const withMatch = (match: unknown, fields: Json = {}, place: (one: Json) => Json = (one) => one): unknown =>
    faultsOf({
      people,
      teams,
      projects,
      tasks: {
        schema: {
          name: text,
          size: { type: 'integer' },
          team: to('teams'),
          lead: to('people'),
          tags: arrayOf(text),
          gone: to('teams', { onDelete: 'unset' }),
          ...fields,
          project: place(to('projects', { match })),
        },
      },
    })

  test.each<[what: string, match: unknown, faults: readonly string[]]>([
    ['of two texts', { name: 'name' }, []],
    ['of two references to one collection', { team: 'team', lead: 'lead' }, []],
    ['of two numbers', { size: 'size' }, []],
    ['with a comment', { $comment: 'x', team: 'team' }, []],
    ['of the reference itself', { project: 'name' }, [`${AT}/project/match/project`]],
    ['of nothing', {}, [`${AT}/project/match`]],
    ['of an unknown field here', { nme: 'name' }, [`${AT}/project/match/nme`]],
    ['of an unknown field there', { name: 'nme' }, [`${AT}/project/match/name`]],
    ['of an inherited name', { toString: 'name' }, [`${AT}/project/match/toString`]],
    ['of different types', { name: 'size' }, [`${AT}/project/match/name`]],
    ['of a whole number and a number', { size: 'rate' }, [`${AT}/project/match/size`]],
    ['of a text and a time', { name: 'at' }, [`${AT}/project/match/name`]],
    ['of a text and a reference', { name: 'team' }, [`${AT}/project/match/name`]],
    ['of references to different collections', { team: 'lead' }, [`${AT}/project/match/team`]],
    ['of arrays', { tags: 'tags' }, [`${AT}/project/match/tags`]],
    ['of an object', { name: 'o' }, [`${AT}/project/match/name`]],
    ['of what lies in an object', { name: 'o.x' }, [`${AT}/project/match/name`]],
    ['of a secret', { name: 'key' }, [`${AT}/project/match/name`]],
    ['of a system field', { name: '_id' }, [`${AT}/project/match/name`]],
    [
      'of several wrong ones',
      { nme: 'name', name: 'size' },
      [`${AT}/project/match/name`, `${AT}/project/match/nme`],
    ],
    ['of a field with "unset" here', { gone: 'team' }, [`${AT}/gone/onDelete`]],
    ['of a field with "unset" there', { team: 'gone' }, ['/collections/projects/schema/gone/onDelete']],
    ['that is no object', 'team', [`${AT}/project/match`]],
    ['with a value that is no name', { team: 5 }, [`${AT}/project/match/team`]],
  ])('%s', (_what, match, faults) => {
    expect([...(withMatch(match) as string[])].sort()).toEqual([...faults])
  })

  test('lies in objects and arrays too', () => {
    for (const place of [
      arrayOf,
      (one: Json) => objectOf({ r: one }),
      (one: Json) => arrayOf(objectOf({ r: one })),
    ])
      expect(withMatch({ team: 'team' }, {}, place)).toEqual([])
    expect(withMatch({ nme: 'name' }, {}, arrayOf)).toEqual([`${AT}/project/items/match/nme`])
  })

  test('does not repeat the fault of a field that it names', () => {
    expect(withMatch({ name: 'name' }, { name: { type: 'strin' } })).toEqual([`${AT}/name/type`])
  })

  const warningsOf = (read: Json): number => {
    const { logged } = createTestService({
      collections: {
        teams,
        projects: { schema: { team: to('teams') }, permissions: read },
        tasks: { schema: { team: to('teams'), project: to('projects', { match: { team: 'team' } }) } },
      },
    } as never)
    return logged.filter((entry) => JSON.stringify(entry).includes('match')).length
  }

  test.each<[what: string, permissions: Json, warnings: number]>([
    ['nobody reads the target', {}, 0],
    ['everyone reads the field there', { '*': { read: true } }, 0],
    ['somebody does not', { user: { read: { omit: ['team'] } } }, 1],
    ['somebody does, as everyone', { user: { read: { omit: ['team'] } }, '*': { read: true } }, 0],
    [
      'everyone reads it on some',
      { user: { read: { pick: [] } }, '*': { read: { where: { team: null } } } },
      1,
    ],
    ['two do not', { a: { read: { pick: [] } }, b: { read: { pick: [] } }, c: { read: true } }, 2],
  ])('is a warning where %s', (_what, permissions, warnings) => {
    expect(warningsOf(permissions)).toBe(warnings)
  })
})

describe('"onDelete": "unset"', () => {
  const unset = (more: Json = {}): Json => to('people', { onDelete: 'unset', ...more })
  const withField = (definition: Json): unknown => faultsOf({ people, tasks: { schema: { r: definition } } })

  test.each<[what: string, definition: Json, faults: readonly string[]]>([
    ['alone', unset(), []],
    ['beside immutable', unset({ immutable: true }), []],
    ['in an array', arrayOf(unset()), []],
    ['in a required array', { ...arrayOf(unset()), required: true }, []],
    ['in an array of objects with minItems', { ...arrayOf(objectOf({ x: unset() })), minItems: 2 }, []],
    ['beside required', unset({ required: true }), [`${AT}/r/onDelete`]],
    [
      'beside required in an object',
      objectOf({ x: unset({ required: true }) }),
      [`${AT}/r/properties/x/onDelete`],
    ],
    ['in an array with minItems', { ...arrayOf(unset()), minItems: 1 }, [`${AT}/r/items/onDelete`]],
    ['in an array with minItems 0', { ...arrayOf(unset()), minItems: 0 }, []],
  ])('%s', (_what, definition, faults) => {
    expect(withField(definition)).toEqual(faults)
  })

  test.each<[condition: unknown, warnings: number]>([
    [null, 1],
    [{ $ne: 'x' }, 1],
    [{ $nin: ['x'] }, 1],
    [{ $exists: false }, 1],
    [{ $in: ['x', null] }, 1],
    ['x', 0],
    [{ $ne: null }, 0],
    [{ $nin: ['x', null] }, 0],
    [{ $exists: true }, 0],
    [{ $ne: 'x', $exists: true }, 0],
    [{ $in: ['x'] }, 0],
  ])('under a rule with %j', (condition, warnings) => {
    for (const filter of [{ r: condition }, { $or: [{ name: 'x' }, { r: condition }] }]) {
      const rules = [
        { read: { where: filter } },
        { update: { check: filter, where: { name: 'x' } }, read: true },
      ]
      for (const rule of rules)
        for (const onDelete of ['unset', 'cascade']) {
          const { logged } = createTestService({
            collections: {
              people,
              tasks: { schema: { name: text, r: to('people', { onDelete }) }, permissions: { user: rule } },
            },
          } as never)
          const found = logged.filter((entry) => JSON.stringify(entry).includes('unset')).length
          expect(found).toBe(onDelete === 'unset' ? warnings : 0)
        }
    }
  })
})
