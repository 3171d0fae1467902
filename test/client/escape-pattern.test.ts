import { describe, expect, test } from 'vitest'
import { createClient, escapePattern } from '../../src/client/client.js'
import { createCollectionService, createMemoryAdapter } from '../../src/index.js'

// CONTRACT.md §7, "The client"

const permissions = { '*': { read: true, create: true } } as const
const config = { collections: { notes: { schema: { text: { type: 'string' } }, permissions } } } as const

describe('a text in a pattern', () => {
  const PRINTABLE = Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i)).join('')

  test.each([PRINTABLE, 'tab\t, line\nfeed', '"quoted"', 'ä𝄞 \u2028', '(?:a|b)*[^c]{2,}\\d$'])(
    'is found as it is: %j',
    async (text) => {
      const notes = createClient(createCollectionService(config, createMemoryAdapter())).collection('notes')
      await notes.create({ text: `before ${text} after` })
      await notes.create({ text: 'abc' })
      expect(await notes.count({ q: { text: { $regex: escapePattern(text) } } })).toBe(1)
      const whole = `^before ${escapePattern(text)} after$`
      expect(await notes.count({ q: { text: { $regex: whole, $options: 'i' } } })).toBe(1)
    },
  )
})
