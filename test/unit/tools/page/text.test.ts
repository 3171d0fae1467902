import { expect, test } from 'vitest'
import { describeDone } from '../../../../src/tools/page/app/model/ignored.js'
import { readLink, shorten, showControls } from '../../../../src/tools/page/app/model/text.js'

test.each(['http://example.com/a?b', 'HTTPS://example.com'])('%s is a link', (text) => {
  expect(readLink(text)).toMatch(/^https?:/)
})

test.each([
  'javascript:alert(1)',
  'data:text/html,x',
  ' http://a',
  'http://a b',
  'java\nscript:x',
  '//a',
  'ftp://a',
  'http://',
  `http://a/${'x'.repeat(3000)}`,
])('%j is text', (text) => {
  expect(readLink(text)).toBeUndefined()
})

test('what would not be seen is seen, and lines stay lines', () => {
  expect(showControls('a\u0000\u001b\u007f\n\tb')).toBe('a\u2400\u241b\u2421\n\tb')
})

test('a text is shortened by whole characters, in one line', () => {
  expect(shorten('a\n b', 10)).toBe('a b')
  expect(shorten('x'.repeat(1000), 10)).toBe(`${'x'.repeat(10)}…`)
  expect(shorten('😀'.repeat(20), 5)).toBe(`${'😀'.repeat(5)}…`)
  expect(shorten('12345', 5)).toBe('12345')
})

test('what was left out of a body is said', () => {
  const lost = new Headers({ 'ignored-properties': '"a", "b"' })
  expect(describeDone('Saved', lost)).toContain('a, b')
  expect(describeDone('Saved', new Headers())).toBe('Saved.')
})
