import { expect, test } from 'vitest'
import { ALL_PROPERTIES, type Rule } from '../../../../src/core/permissions/grants.js'
import { createViews } from '../../../../src/core/permissions/views.js'
import { ANYWHERE } from '../../../../src/core/query/where.js'
import type { StoredDocument } from '../../../../src/index.js'
import { useCaches } from '../../../support/caches.js'

useCaches()

const ruleOf = (subject: string, pick: readonly string[] | null): Rule => ({
  subject,
  place: '',
  properties: pick === null ? ALL_PROPERTIES : { pick: new Set(pick), omit: new Set() },
  where: ANYWHERE,
  check: ANYWHERE,
  set: new Map(),
  acceptsRole: false,
  claims: [],
})

const rules = Array.from({ length: 12 }, (_, i) => ruleOf(`role${i}`, [`p${i}`]))

/** The rules whose bits are set in a number. */
const chosen = (number: number): readonly Rule[] => rules.filter((_, i) => ((number >> i) & 1) === 1)

function count() {
  let made = 0
  const find = createViews(
    { fields: [], additionalProperties: true, reserved: new Set<string>() },
    rules,
    () => {
      made += 1
      return () => undefined
    },
  )
  return { find, made: () => made }
}

const document: StoredDocument = {
  _id: 'a',
  _version: 1,
  ...Object.fromEntries(rules.map((_, i) => [`p${i}`, i])),
}

test('each set of rules has one view, which shows what they show together', () => {
  const { find, made } = count()
  for (let times = 0; times < 2; times++) {
    expect(find(chosen(0b11)).show(document)).toEqual({ _id: 'a', p0: 0, p1: 1 })
    expect(find(chosen(0b101)).show(document)).toEqual({ _id: 'a', p0: 0, p2: 2 })
    expect(find(chosen(0)).show(document)).toEqual({ _id: 'a' })
  }
  expect(made()).toBe(3)
})

test('of more sets than can be kept, those that are used stay', () => {
  const { find, made } = count()
  const used = find(chosen(1))
  for (let number = 2; number < 4096; number++) {
    find(chosen(number))
    expect(find(chosen(1))).toBe(used)
  }
  expect(made()).toBe(4095)
  find(chosen(2))
  expect(made()).toBe(4096)
})

test('what is not wanted is not read, however large it may be; nothing else is shown for being wanted', () => {
  const { find } = count()
  const large = {
    ...document,
    get p1(): never {
      throw new Error('it was read')
    },
  }
  expect(find(chosen(0b11)).show(large, new Set(['p0', 'p2']))).toEqual({ _id: 'a', p0: 0 })
})
