import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root, STACK, useCommand } from '../support/command.js'

const { run, writeFiles } = useCommand()

const example = join(root, 'examples', 'config.json')

// CONTRACT.md §8, "Matrix"
test('matrix prints tables of at most 100 columns, without colours where nobody looks', async () => {
  const { code, stdout, stderr } = await run('matrix', example)
  expect([code, stderr]).toEqual([0, ''])
  expect(stdout).toMatch(/^articles +create +read +update +delete$/m)
  expect(stdout).toMatch(
    /^a {2}status = "published" {3}\/collections\/articles\/permissions\/\*\/read\/where$/m,
  )
  expect(stdout).not.toContain('\u001b')
  expect(stdout.split('\n').filter((line) => line.length > 100)).toEqual([])
})

test('matrix prints Markdown and JSON', async () => {
  await writeFiles({
    'config.json': JSON.stringify({
      collections: {
        notes: { schema: {}, permissions: { user: { read: { where: { createdBy: '$user.boss' } } } } },
      },
    }),
  })
  const refused = await run('matrix', '--format', 'json')
  expect(refused.code).toBe(1)
  expect(refused.stderr).toContain('/collections/notes/permissions/user/read/where')
  expect(refused.stderr).not.toMatch(STACK)
  const json = await run('matrix', '--format', 'json', '--authenticate')
  expect(JSON.parse(json.stdout).collections).toMatchObject([{ name: 'notes', roles: [] }])
  const markdown = await run('matrix', '--format', 'markdown', '--authenticate')
  expect(markdown.stdout).toMatch(/^\| user \| read \| `createdBy = \$user\.boss` \| all \|/m)
})

test('matrix says what it cannot read', async () => {
  const { code, stdout, stderr } = await run('matrix', 'nosuch.json')
  expect([code, stdout]).toEqual([1, ''])
  expect(stderr).toContain('nosuch.json')
  expect(stderr).not.toMatch(STACK)
})
