import { expect, test } from 'vitest'
import { isEmail, lowerEmail } from '../../../../src/core/fields/email.js'

// CONTRACT.md §1, "Mail addresses"

const taken = (local: string): boolean => isEmail(`${local}@example.org`)

/** Each code point beyond ASCII that can be in a text. */
function* eachCharacter(): Generator<string> {
  for (let point = 0x80; point <= 0x10ffff; point += 1)
    if (point < 0xd800 || point > 0xdfff) yield String.fromCodePoint(point)
}

/** Those that an address can hold. */
const TAKEN = new Set([...eachCharacter()].filter(taken))

// A million characters: what is wrong is collected, for an assertion for each takes longer than all else.

test('no letter in an address has a single letter of ASCII as its upper or lower case, or as its NFKD', () => {
  const wrong = [...TAKEN].filter((one) =>
    [one.toLowerCase(), one.toUpperCase(), one.normalize('NFKD')].some((other) =>
      /^[\0-\u007f]$/.test(other),
    ),
  )
  expect(wrong).toEqual([])
  expect(TAKEN.size).toBeGreaterThan(100_000)
})

test('the lower case of what no address holds is in none', () => {
  const changed = [...eachCharacter()].filter(
    (one) => one !== one.toLowerCase() && !TAKEN.has(one) && taken(one.toLowerCase()),
  )
  expect(changed.map((one) => [one, lowerEmail(one)])).toEqual(changed.map((one) => [one, one]))
})

test.each([
  ['letters', `${'é'.repeat(1_000_000)}@example.org`],
  ['marks', `é${'\u0301\u0323'.repeat(500_000)}@example.org`],
  ['dots', `é${'.a'.repeat(500_000)}@example.org`],
  ['labels', `é@${'a-.'.repeat(400_000)}`],
  ['at signs', 'é@'.repeat(500_000)],
])('a text of a million %s is no address', (_, text) => {
  expect(isEmail(text)).toBe(false)
})
