import { expect, test } from 'vitest'
import { writeCell, writeDocument, writeRow } from '../../../../src/tools/page/app/model/csv.js'
import { createElementReader } from '../../../../src/tools/page/app/model/elements.js'

test.each([
  ['plain', 'plain'],
  ['a,b', '"a,b"'],
  ['say "x"', '"say ""x"""'],
  ['two\r\nlines', '"two\r\nlines"'],
  [null, ''],
  [undefined, ''],
  [-5, '-5'],
  [true, 'true'],
  [['a', 1], '"[""a"",1]"'],
  ['=1+1', `"'=1+1"`],
  ['+1', `"'+1"`],
  ['-1', `"'-1"`],
  ['@SUM(A1)', `"'@SUM(A1)"`],
  ['\t=1', `"'\t=1"`],
  ['\r=1', `"'\r=1"`],
])('a cell holds %j as %j', (value, cell) => {
  expect(writeCell(value)).toBe(cell)
})

test('a row ends as RFC 4180 has it, and a column may be inside an object', () => {
  expect(writeRow(['a', 2])).toBe('a,2\r\n')
  expect(writeDocument(['_id', 'at.city', 'constructor'], { _id: '1', at: { city: 'Bern' } })).toBe(
    '1,Bern,\r\n',
  )
})

test('the text of an array is split into its elements, wherever it is cut', () => {
  const documents = [{ a: '],[{}"\\' }, [1, [2]], 'x,y', 3, null, { b: { c: [] } }]
  const text = ` ${JSON.stringify(documents, null, 1)}\n`
  for (let size = 1; size < 9; size++) {
    const read = createElementReader()
    const found: string[] = []
    for (let i = 0; i < text.length; i += size) found.push(...read(text.slice(i, i + size)))
    expect(found.map((one) => JSON.parse(one))).toEqual(documents)
  }
  expect(createElementReader()('[]')).toEqual([])
})
