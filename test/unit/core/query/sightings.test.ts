import { expect, test } from 'vitest'
import { createSightings } from '../../../../src/core/query/query-reader.js'

const TEXTS = ['', '1?q[n]=1', '1?q[n]=2', '2?q[n]=1', '1?q[text]="ä"', '1?q[text]="a"']

test('a text is new once', () => {
  const wasSeen = createSightings()
  expect(TEXTS.map(wasSeen)).toEqual(TEXTS.map(() => false))
  expect(TEXTS.map(wasSeen)).toEqual(TEXTS.map(() => true))
})

test('what many others came after is forgotten', () => {
  const wasSeen = createSightings()
  expect(TEXTS.map(wasSeen)).not.toContain(true)
  for (let i = 0; i < 200_000; i++) wasSeen(`3?q[n]=${i}`)
  expect(TEXTS.map(wasSeen)).not.toContain(true)
})
