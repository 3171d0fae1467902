import { expect, test } from 'vitest'
import { STACK, useCommand } from '../support/command.js'

const { run, writeFiles } = useCommand()

const withRead = (read: unknown) =>
  JSON.stringify({
    collections: { notes: { schema: { text: { type: 'string' } }, permissions: { user: { read } } } },
  })

// CONTRACT.md §8, "Diff"
test('diff prints a case for each difference, and fails on what widens alone', async () => {
  await writeFiles({
    'open.json': withRead(true),
    'shut.json': withRead({ where: { text: 'a' } }),
    'bare.json': withRead({ omit: ['text'] }),
  })
  const widening = await run('diff', 'shut.json', 'open.json', '--authenticate', '--fail-on', 'widening')
  expect(widening.code).toBe(1)
  expect(widening.stdout).toMatch(/^widening · notes read · granted now, not before · anyone signed in$/m)
  expect(widening.stdout).toMatch(/^ {2}GET \/notes\//m)
  expect(widening.stdout.split('\n').filter((line) => line.length > 100)).toEqual([])
  // A document that is hidden now is refused in another way, and that is no narrowing.
  const changed = await run('diff', 'open.json', 'shut.json', '--authenticate', '--fail-on', 'widening')
  expect(changed.code).toBe(1)
  expect(changed.stdout).toMatch(/^1 narrowing, 3 changed$/m)
  const narrowing = await run('diff', 'open.json', 'bare.json', '--authenticate', '--fail-on', 'widening')
  expect([narrowing.code, narrowing.stdout.split('\n').at(-2)]).toEqual([0, '1 narrowing'])
  const json = await run('diff', 'open.json', 'shut.json', '--authenticate', '--format', 'json')
  expect(JSON.parse(json.stdout)).toMatchObject([
    { kind: 'narrowing', collection: 'notes', operation: 'read', fields: [], roles: [] },
    { kind: 'changed', operation: 'patch' },
    { kind: 'changed', operation: 'put' },
    { kind: 'changed', operation: 'delete' },
  ])
  const markdown = await run('diff', 'open.json', 'shut.json', '--authenticate', '--format', 'markdown')
  expect(markdown.stdout).toMatch(/^\| narrowing \| notes read \|/m)
  expect((await run('diff', 'open.json', 'open.json', '--fail-on', 'widening')).code).toBe(0)
})

test('diff says what it cannot read', async () => {
  await writeFiles({ 'open.json': withRead(true) })
  const { code, stdout, stderr } = await run('diff', 'open.json', 'nosuch.json')
  expect([code, stdout]).toEqual([1, ''])
  expect(stderr).toContain('nosuch.json')
  expect(stderr).not.toMatch(STACK)
  await writeFiles({ 'wrong.json': withRead('yes') })
  const wrong = await run('diff', 'open.json', 'wrong.json')
  expect([wrong.code, wrong.stdout]).toEqual([1, ''])
  expect(wrong.stderr).toContain('wrong.json /collections/notes/permissions/user/read: ')
})
