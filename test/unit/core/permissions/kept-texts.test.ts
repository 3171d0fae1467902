import { expect, test } from 'vitest'
import { createTextStore, type KeptText } from '../../../../src/core/permissions/kept-texts.js'
import type { Slice } from '../../../../src/core/slices.js'
import type { StoredDocument } from '../../../../src/index.js'
import { useCaches } from '../../../support/caches.js'

useCaches()

function count() {
  const written: string[] = []
  const find = createTextStore()((document) => {
    written.push(document._id)
    return JSON.stringify(document)
  })
  const slice: Slice = { left: 0 }
  const keep = (document: StoredDocument): KeptText | undefined => find(document, slice)
  const read = (document: StoredDocument): string => new TextDecoder().decode(keep(document)?.bytes)
  return { keep, read, written, slice }
}

const documentOf = (_id: string, text = ''): StoredDocument => ({ _id, _version: 1, text })

test('the text of a frozen document is written once', () => {
  const { read, written } = count()
  const document = Object.freeze(documentOf('a'))
  expect([read(document), read(document)]).toEqual([JSON.stringify(document), JSON.stringify(document)])
  expect(written).toEqual(['a'])
})

test('only what is written takes steps', () => {
  const { read, slice } = count()
  const document = Object.freeze(documentOf('a', 'x'.repeat(1600)))
  read(document)
  const { left } = slice
  expect(left).toBeLessThan(-100)
  read(document)
  expect(slice.left).toBe(left)
})

test('another document with the same content has a text of its own', () => {
  const { read, written } = count()
  read(Object.freeze(documentOf('a')))
  read(Object.freeze(documentOf('a')))
  expect(written).toEqual(['a', 'a'])
})

test('what can still be changed is not kept', () => {
  expect(count().keep(documentOf('a'))).toBeUndefined()
})

test('texts of every length and alphabet keep their bytes, side by side', () => {
  const { keep, read } = count()
  const texts = ['', 'a', 'é', '漢字', '😀', 'x'.repeat(60_000), '漢'.repeat(50_000), 'end']
  const documents = texts.map((text, i) => Object.freeze(documentOf(String(i), text)))
  for (const document of documents) keep(document)
  expect(documents.map(read)).toEqual(documents.map((document) => JSON.stringify(document)))
})

test('when there is too much of it, all is forgotten and begun anew', () => {
  const { read, written } = count()
  const first = Object.freeze(documentOf('first'))
  read(first)
  for (let i = 0; i < 1200; i++) read(Object.freeze(documentOf(`large ${i}`, 'x'.repeat(60 * 1024))))
  written.length = 0
  expect(read(first)).toBe(JSON.stringify(first))
  expect(written).toEqual(['first'])
})

test('a long one is not kept', () => {
  const { read, written } = count()
  const document = Object.freeze(documentOf('long', 'x'.repeat(64 * 1024)))
  expect([read(document), read(document)]).toEqual([JSON.stringify(document), JSON.stringify(document)])
  expect(written).toEqual(['long', 'long'])
})
