import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { FileError, findFault, readJsonFile } from '../../../../src/tools/cli/read-json-file.js'

describe('a key that stands twice in one object', () => {
  test.each<[string, string]>([
    ['{"a":1,"a":2}', 'a'],
    ['{"a":1,"b":2,"a":3}', 'a'],
    ['{"o":{"a":1,"a":2}}', 'a'],
    ['[{"a":1},{"b":1,"b":2}]', 'b'],
    ['{"a":[{"x":1}],"a":2}', 'a'],
    ['{"a":{"b":1},"c":{},"a":1}', 'a'],
    ['{"a" : 1 ,\n\t"a"\n:2}', 'a'],
    ['{"":1,"":2}', ''],
    ['{"a":1,"\\u0061":2}', 'a'],
    ['{"\\"":1,"\\"":2}', '"'],
    ['{"a\\\\":1,"a\\\\":2}', 'a\\'],
    ['{"a:b":1,"a:b":2}', 'a:b'],
    ['{"{":1,"{":2}', '{'],
    ['{"__proto__":1,"__proto__":2}', '__proto__'],
    ['{"constructor":1,"constructor":2}', 'constructor'],
    ['{"x":"a","y":"\\"","z":1,"z":1}', 'z'],
  ])('%s', (text, expected) => {
    expect(() => JSON.parse(text)).not.toThrow()
    expect(findFault(text)).toContain(JSON.stringify(expected))
  })

  test.each([
    '{}',
    '[]',
    '1',
    '"a"',
    'null',
    '{"a":1,"b":2}',
    '{"a":1,"A":2}',
    '{"a":1,"a ":2}',
    '{"a":{"a":{"a":1}}}',
    '{"a":[{"a":1},{"a":2}]}',
    '[{"a":1},{"a":1}]',
    '{"a":{"x":1},"b":{"x":1}}',
    '{"a":"a","b":"a"}',
    '["a","a",{"a":"a"}]',
    '{"a":"b\\":1,\\"b","c":1}',
    '{"a":"}","b":"{","c":{"a":"]"}}',
    '{"toString":1,"constructor":2}',
    '{"a\\\\":1,"a":2}',
    '{"a":"\\\\","b":"a"}',
  ])('there is none in %s', (text) => {
    expect(() => JSON.parse(text)).not.toThrow()
    expect(findFault(text)).toBeUndefined()
  })

  test('it is found behind very long texts and deep nesting', () => {
    const long = JSON.stringify('x\\"'.repeat(1_000_000))
    expect(findFault(`{"a":${long},"a":1}`)).toContain('"a"')
    expect(findFault(`{"a":${long},"b":1}`)).toBeUndefined()
    const deep = `${'['.repeat(5000)}{"k":1,"k":2}${']'.repeat(5000)}`
    expect(findFault(deep)).toContain('"k"')
    // Deeper than any parser recurses.
    const arounds = (text: string) => `${'{"[":[1,"{",'.repeat(50_000)}${text}${']}'.repeat(50_000)}`
    expect(findFault(arounds('{"k":1,\n"k":2}'))).toContain(
      'the key "k" occurs twice in one object at line 2, column 1',
    )
    expect(findFault(arounds('{"k":{"k":"k"},"l":["k","k"]}'))).toBeUndefined()
  })
})

describe('what is no JSON', () => {
  test.each<[string, number, number]>([
    ['{"a":1,}', 1, 8],
    ['{\n "a": 1\n "b": 2}', 3, 2],
    ['{\r\n "a": tru}', 2, 7],
    ['', 1, 1],
    ['[1,2', 1, 5],
    ['// note\n{}', 1, 1],
    ['{"a":1}\n\n}', 3, 1],
    ['{"a":1,\n"a":2}', 2, 1],
  ])('%j is found by line and column', (text, line, column) => {
    expect(findFault(text)).toContain(`line ${line}, column ${column}`)
  })

  test('more levels than can be read are one too', () => {
    expect(findFault('['.repeat(1_000_000))).toBeDefined()
  })
})

describe('reading a file of JSON', () => {
  let folder = ''
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'read-json-file-'))
  })
  afterAll(() => rm(folder, { recursive: true }))

  async function read(content: string | Uint8Array): Promise<unknown> {
    const path = join(folder, 'file.json')
    await writeFile(path, content)
    return readJsonFile(path)
  }

  test('gives its value, with or without a byte order mark', async () => {
    expect(await read('{"a":[1,"ä"]}')).toEqual({ a: [1, 'ä'] })
    expect(await read('\ufeff{"a":1}\n')).toEqual({ a: 1 })
  })

  test.each<[string, string]>([
    ['no JSON', '{a:1}'],
    ['a comment', '{} // note'],
    ['nothing', ''],
    ['a key twice', '{"a":{"b":1,"b":1}}'],
    ['two byte order marks', '\ufeff\ufeff{}'],
  ])('refuses %s', async (_, content) => {
    await expect(read(content)).rejects.toBeInstanceOf(FileError)
  })

  test('refuses a file that is not there, and a folder', async () => {
    await expect(readJsonFile(join(folder, 'missing.json'))).rejects.toBeInstanceOf(FileError)
    await expect(readJsonFile(folder)).rejects.toBeInstanceOf(FileError)
  })
})
