import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ORIGIN, STACK, useCommand } from '../support/command.js'
import { judgedFetch } from '../support/judged-fetch.js'

// CONTRACT.md §8, "Import"

const { folder, start, run, writeFiles } = useCommand()

const DATABASE = {
  posts: [{ id: 1, title: 'One', authorId: 7, createdAt: 'long ago' }],
  authors: [{ id: 7, name: 'Ann', notes: null }],
  profile: { name: 'blog' },
  version: 3,
}

test('a file of json-server is served, and what became of it is printed', async () => {
  await writeFiles({ 'db.json': DATABASE })
  const { code, stdout, stderr } = await run('import', 'db.json', 'blog')
  expect([code, stderr]).toEqual([0, ''])
  for (const said of [
    'Wrote config.json, documents.json in blog, from db.json.',
    'posts    1 document, id unique integer, title string, authorId → authors, createdAt_2 string',
    'posts.createdAt is now posts.createdAt_2',
    'authors.notes is null in some documents',
    'version is 3',
    'posts.id                                  is kept beside _id, and is unique: GET /posts?q[id]=',
    'posts.authorId                            contains the _id of a document of authors',
    'a property that no imported document has  is rejected with 400 validation_failed',
    'GET /posts?_expand=author   ',
    'GET /posts?expand=["authorId"]',
    'none: GET /posts?q[authorId]=<_id> lists them',
    '/collections/posts/permissions/*: everyone may create, read, update and delete everything here',
    'npx collection-service --seed documents.json --watch',
  ])
    expect(stdout).toContain(said)

  const [config, seed] = ['config.json', 'documents.json'].map((name) => join('blog', name))
  const serving = start(String(config), '--seed', String(seed), '--port', '0')
  const [origin] = await serving.printed(ORIGIN)
  // The addresses that were printed, as they were.
  const printed = [...stdout.matchAll(/GET (\/[^\s,]+\?(?:q\[id\]|expand|sort)\S*?)(?:,|\n)/g)].map(
    ([, path]) => path,
  )
  expect(printed.length).toBeGreaterThan(2)
  for (const path of printed)
    expect([path, (await judgedFetch(`${origin}${path}`)).status]).toEqual([path, 200])
  expect(await (await judgedFetch(`${origin}/posts?q[id]=1&expand=["authorId"]`)).json()).toMatchObject([
    { id: 1, title: 'One', authorId: { id: 7, name: 'Ann' } },
  ])
})

test('nothing is overwritten', async () => {
  await writeFiles({ 'db.json': DATABASE })
  await run('import', 'db.json', 'twice')
  const before = await readFile(join(folder(), 'twice', 'config.json'), 'utf8')
  const { code, stderr } = await run('import', 'db.json', 'twice')
  expect([code, stderr]).toEqual([
    1,
    `${join('twice', 'config.json')}, ${join('twice', 'documents.json')} already exist: import does not overwrite files, and has written none\n`,
  ])
  expect(await readFile(join(folder(), 'twice', 'config.json'), 'utf8')).toBe(before)
})

test.each<[string, unknown, RegExp]>([
  ['no object', [1], /contains neither an object nor a list/],
  ['nothing to serve', { version: 1 }, /contains neither an object nor a list/],
  ['a number that JSON does not hold', '{"posts":[{"id":1e400}]}', /\/posts\/0\/id/],
  ['a key twice', '{"posts":[{"id":1,"id":2}]}', /the key "id" occurs twice/],
])('%s: an error that says so, and no file', async (name, content, message) => {
  await writeFiles({ [`${name}.json`]: content })
  const { code, stdout, stderr } = await run('import', `${name}.json`, name)
  expect([code, stdout]).toEqual([1, ''])
  expect(stderr).toMatch(message)
  expect(stderr).not.toMatch(STACK)
  expect(await readdir(folder())).not.toContain(name)
})
