import { expect, test } from 'vitest'
import { createSealedIds, ID_LENGTH, type SealedPosition } from '../../../../src/core/changes/sealed-ids.js'

const secret = (fill: number) => new Uint8Array(32).fill(fill)
const create = (fill = 1, purpose = 'a', now = () => 0) => createSealedIds(secret(fill), { purpose, now })
const mark: SealedPosition = {
  position: '["log",12,1700000000000]',
  time: 1_700_000_000_000,
  digest: 'ab'.repeat(16),
}

test('what is sealed is read again, whatever it holds', async () => {
  const ids = create()
  const marks: readonly SealedPosition[] = [
    mark,
    { position: '', time: 0, digest: '0'.repeat(32) },
    { position: 'é'.repeat(100), time: -1.5, digest: 'f'.repeat(32) },
    { position: 'x'.repeat(355), time: 2 ** 53, digest: '0123456789abcdef'.repeat(2) },
  ]
  for (const one of marks) {
    const id = await ids.seal(one)
    expect(id).toMatch(/^[\w-]+$/)
    expect(id.length).toBe(ID_LENGTH)
    expect(await ids.unseal(id)).toEqual(one)
  }
  await expect(ids.seal({ ...mark, position: 'x'.repeat(356) })).rejects.toThrow(RangeError)
})

test('processes that share a key read each other, and under another key or purpose nothing is read', async () => {
  const id = await create().seal(mark)
  expect(await create().unseal(id)).toEqual(mark)
  expect(await create(2).unseal(id)).toBeUndefined()
  expect(await create(1, 'b').unseal(id)).toBeUndefined()
})

test('no two ids of one mark are alike, and the salt stays for an hour', async () => {
  let now = 0
  const ids = create(1, 'a', () => now)
  const saltOf = (id: string): string => id.slice(0, 21)
  const [first, second] = [await ids.seal(mark), await ids.seal(mark)]
  expect(second).not.toBe(first)
  expect(saltOf(second)).toBe(saltOf(first))
  now += 3_600_000
  expect(saltOf(await ids.seal(mark))).not.toBe(saltOf(first))
  expect(await ids.unseal(first)).toEqual(mark)
})

test('an id that was changed in any place is none', async () => {
  const ids = create()
  const id = await ids.seal(mark)
  for (let i = 0; i < id.length; i += 7) {
    const other = `${id.slice(0, i)}${id[i] === 'A' ? 'B' : 'A'}${id.slice(i + 1)}`
    expect(await ids.unseal(other)).toBeUndefined()
  }
  for (const other of ['', id.slice(1), `${id}A`, id.replaceAll(/./g, '='), '💥'.repeat(id.length / 2)])
    expect(await ids.unseal(other)).toBeUndefined()
})
