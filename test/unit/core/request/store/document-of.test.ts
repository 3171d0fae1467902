import { expect, test } from 'vitest'
import { and, everything, isId } from '../../../../../src/core/filter/filter.js'
import { documentOf, writtenBy } from '../../../../../src/core/request/store.js'
import type { WriteStep } from '../../../../../src/core/storage.js'

const document = { _id: '1', _version: 2 }

test.each<[step: WriteStep, document: string | undefined, isWritten: boolean]>([
  [{ in: 'a', insert: document }, 'a/1', true],
  [{ in: 'a', replace: document, version: 1 }, 'a/1', true],
  [{ in: 'a', remove: and([isId('1'), everything]), expect: 1 }, 'a/1', true],
  [{ in: 'a', remove: isId('1'), expect: 1 }, 'a/1', true],
  [{ in: 'a', remove: isId('1') }, undefined, false],
  [{ in: 'a', remove: everything, expect: 1 }, undefined, false],
  [{ in: 'a', refuse: isId('1') }, undefined, false],
  [{ in: 'a', require: '1' }, undefined, false],
  [{ in: 'a', require: '1', version: 1 }, 'a/1', false],
])('%o', (step, found, isWritten) => {
  expect(documentOf(step)).toBe(found)
  expect(writtenBy([step])).toEqual(isWritten ? [found] : [])
})
