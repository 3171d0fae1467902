import { expect, test } from 'vitest'
import { useCommand } from '../support/command.js'

const { run, writeFiles } = useCommand()

const tickets = (create: unknown, more: object = {}) =>
  JSON.stringify({
    collections: {
      tickets: {
        schema: {
          title: { type: 'string', required: true },
          number: { type: 'integer', required: true },
          ...more,
        },
        permissions: { user: { read: true, create } },
      },
    },
    limits: { maxLimit: 10 },
  })

// CONTRACT.md §7, "The command"
test('the command is told what hooks fill', async () => {
  await writeFiles({
    'config.json': tickets({ pick: ['title'] }),
    'checked.json': tickets({ pick: ['title'], check: { title: 'a' } }),
    'earlier.json': tickets({ pick: ['title'] }, { number: { type: 'integer' } }),
  })
  const filled = ['--fills', 'tickets.number'] as const
  const host = '--authenticate'

  const bare = await run('check', host)
  expect([bare.code, bare.stdout.includes('unfillable_field')]).toEqual([1, true])
  expect((await run('check', host, ...filled)).code).toBe(0)

  const createOf = ({ stdout }: { readonly stdout: string }): unknown =>
    JSON.parse(stdout).components.schemas['tickets.create']?.required
  const openapi = ['openapi', '--caller', '{"_id":"ann"}', host]
  expect(createOf(await run(...openapi))).toBeUndefined()
  expect(createOf(await run(...openapi, ...filled))).toEqual(['title'])

  const [required, optional] = [await run('types'), await run('types', ...filled)]
  const bodyIn = (text: string) => /CreateBody \{[^}]*\}/.exec(text)?.[0]
  expect(bodyIn(required.stdout)).toContain('readonly number: number')
  expect(bodyIn(optional.stdout)).toContain('readonly number?: number')
  expect(optional.stdout).toMatch(/Document \{[^}]*readonly number: number/)

  const diff = (...files: readonly string[]) => run('diff', ...files, host, '--format', 'json')
  const creates = ({ stdout }: { readonly stdout: string }): readonly unknown[] =>
    JSON.parse(stdout).filter(({ operation }: { operation: unknown }) => operation === 'create')
  expect(creates(await diff('checked.json', 'config.json'))).not.toMatchObject([{ kind: 'widening' }])
  expect(creates(await diff('checked.json', 'config.json', ...filled))).toMatchObject([{ kind: 'widening' }])
  expect((await diff('earlier.json', 'config.json', ...filled)).code).toBe(0)
})

test.each([['check'], ['openapi'], ['types'], ['diff', 'config.json', 'config.json']])(
  '%s refuses what no hook can fill',
  async (...words) => {
    await writeFiles({ 'config.json': tickets(true) })
    for (const name of ['tickets.numbr', 'ticket.number', 'tickets._id']) {
      const { code, stdout, stderr } = await run(...words, '--fills', name)
      expect([code, stdout]).toEqual([1, ''])
      expect(stderr).toContain('options.hooks.')
    }
  },
)
