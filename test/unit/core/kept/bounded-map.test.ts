import { describe, expect, test } from 'vitest'
import { createBoundedMap } from '../../../../src/core/kept/bounded-map.js'

describe('a bounded map', () => {
  test('forgets what was used longest ago', () => {
    const map = createBoundedMap<string, number>({ isOn: true }, 2)
    map.set('a', 1)
    map.set('b', 2)
    expect(map.get('a')).toBe(1)
    map.set('c', 3)
    expect([map.get('a'), map.get('b'), map.get('c')]).toEqual([1, undefined, 3])
    map.set('c', 4)
    expect([map.get('a'), map.get('c')]).toEqual([1, 4])
  })

  test('counts entries by their size', () => {
    const map = createBoundedMap<string, string>({ isOn: true }, 10)
    map.set('a', '123', 3)
    map.set('b', '123', 3)
    map.set('c', '123', 3)
    map.set('b', '1234', 4)
    expect([map.get('a'), map.get('b'), map.get('c')]).toEqual(['123', '1234', '123'])
    map.set('d', '123456', 6)
    expect([map.get('a'), map.get('b'), map.get('c'), map.get('d')]).toEqual([
      undefined,
      undefined,
      '123',
      '123456',
    ])
    map.set('e', '12345678901', 11)
    expect([map.get('c'), map.get('d'), map.get('e')]).toEqual([undefined, undefined, undefined])
  })
})
