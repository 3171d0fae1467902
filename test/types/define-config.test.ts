import { expect, test } from 'vitest'
import { createCollectionService, defineConfig } from '../../src/index.js'

test('a defined configuration is the object that was given', () => {
  const config = { collections: { notes: { schema: { text: { type: 'string' } } } } }
  expect(defineConfig(config)).toBe(config)
})

test('a handler carries nothing of its configuration', () => {
  const handler = createCollectionService(defineConfig({ collections: { notes: { schema: {} } } }))
  expect(Object.keys(handler)).not.toContain('~config')
})
