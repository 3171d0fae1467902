import { expect, test } from 'vitest'
import type { StoredDocument } from '../../../src/index.js'
import { createTextStore } from '../../../src/permissions/kept-texts.js'

function count() {
  const written: string[] = []
  const write = createTextStore()((document) => {
    written.push(document._id)
    return JSON.stringify(document)
  })
  return { write, written }
}

const documentOf = (_id: string, text = ''): StoredDocument => ({ _id, _version: 1, text })

test('the text of a frozen document is written once', () => {
  const { write, written } = count()
  const document = Object.freeze(documentOf('a'))
  expect([write(document), write(document)]).toEqual([JSON.stringify(document), JSON.stringify(document)])
  expect(written).toEqual(['a'])
})

test('another document with the same content has a text of its own', () => {
  const { write, written } = count()
  write(Object.freeze(documentOf('a')))
  write(Object.freeze(documentOf('a')))
  expect(written).toEqual(['a', 'a'])
})

test('what can still be changed is written anew each time', () => {
  const { write } = count()
  const document = { ...documentOf('a'), n: 1 }
  write(document)
  document.n = 2
  expect(JSON.parse(write(document)).n).toBe(2)
})

test('when there is too much of it, all is forgotten and begun anew', () => {
  const { write, written } = count()
  const first = Object.freeze(documentOf('first'))
  write(first)
  for (let i = 0; i < 700; i++) write(Object.freeze(documentOf(`large ${i}`, 'x'.repeat(60 * 1024))))
  written.length = 0
  expect(write(first)).toBe(JSON.stringify(first))
  expect(written).toEqual(['first'])
})

test('a long one is not kept', () => {
  const { write, written } = count()
  const document = Object.freeze(documentOf('long', 'x'.repeat(64 * 1024)))
  expect([write(document), write(document)]).toEqual([JSON.stringify(document), JSON.stringify(document)])
  expect(written).toEqual(['long', 'long'])
})
