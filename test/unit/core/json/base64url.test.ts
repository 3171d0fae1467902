import { describe, expect, test } from 'vitest'
import { decodeBase64url, encodeBase64url } from '../../../../src/core/json/base64url.js'

describe('base64url', () => {
  test.each<[readonly number[], string]>([
    [[], ''],
    [[0x66], 'Zg'],
    [[0x66, 0x6f], 'Zm8'],
    [[0x66, 0x6f, 0x6f], 'Zm9v'],
    [[0xfb, 0xff], '-_8'],
  ])('%j is %j', (bytes, text) => {
    expect(encodeBase64url(Uint8Array.from(bytes))).toBe(text)
    if (text) expect(decodeBase64url(text)).toEqual(Uint8Array.from(bytes))
  })

  test.each(['', 'A', 'Zg==', 'Zm 8', '+/8', 'Zm8\n', 'ü'])('%j is no such text', (text) => {
    expect(decodeBase64url(text)).toBeUndefined()
  })
})
