import { expect, test } from 'vitest'
import { checkHistory } from './support/history/check-history.js'
import type { History, Transaction, Version } from './support/history/history.js'

/** What is told of histories that are known to be serial, or not. */

/** `x02`: what 2 wrote over what 0 wrote into x. A last `!` is another content. */
function readVersion(text: string): Version {
  const [document = '', ...writers] = text.replace('!', '')
  const trail = writers.map((one) => `${document}${one}`)
  return { document, writer: trail.at(-1) ?? '', trail, balance: 10, etag: text.endsWith('!') ? 'b' : 'a' }
}

const OUTCOMES = { '': 'done', '?': 'unknown', '-': 'refused' } as const

/** `1 rx0 wx01`: what a transaction read and wrote; with `?` and `-`, what it was sent with. `@a`: its client. */
function readTransaction(line: string): Transaction {
  const [, id = '', end = '', client = id, rest = ''] = /^(\w+)([?-]?)(?:@(\w))?(.*)$/.exec(line) ?? []
  const words = rest.trim().split(' ').filter(Boolean)
  const of = (kind: string) => words.filter((word) => word.startsWith(kind)).map((word) => word.slice(1))
  const writes = of('w').map(readVersion)
  const sent = [...writes.map(({ writer }) => writer), ...of('s')]
  const outcome = OUTCOMES[end as keyof typeof OUTCOMES]
  return { id, client, sent, outcome, reads: of('r').map(readVersion), writes }
}

/** The first transaction, 0, has made all documents. */
function readHistory(lines: readonly string[], last: string): History {
  const versions = last.split(' ').map(readVersion)
  const first = ['0', ...versions.map(({ document }) => `w${document}0`)].join(' ')
  return { transactions: [first, ...lines].map(readTransaction), last: versions }
}

test.each<[what: string, lines: readonly string[], last: string, found: readonly string[]]>([
  ['one after another', ['1 rx0 wx01 wy01', '2 rx01 ry01 wx012'], 'x012 y01', []],
  ['a read of what nobody has changed meanwhile', ['1 rx0 ry0', '2 wx02', '3 rx02 ry0'], 'x02 y0', []],
  ['a read that comes before in order, and later in time', ['1 wx01', '2 rx0 wy02'], 'x01 y02', []],
  ['a transaction that reads its own', ['1 wx01 rx01 wx01a', '2 rx01a'], 'x01a y0', []],
  ['a lost update', ['1 rx0 wx01', '2 rx0 wx02'], 'x02 y0', ['lost: 1', '1 -rw x-> 2 -rw x-> 1']],
  [
    'a lost update of which nobody says what it read',
    ['1 wx01', '2 wx02'],
    'x02 y0',
    ['lost: 1', '1 -rw x-> 2 -rw x-> 1'],
  ],
  ['a write skew', ['1 rx0 wy01', '2 ry0 wx02'], 'x02 y01', ['1 -rw x-> 2 -rw y-> 1']],
  [
    'a write skew of three',
    ['1 rx0 wy01', '2 ry0 wz02', '3 rz0 wx03'],
    'x03 y01 z02',
    ['1 -rw x-> 3 -rw z-> 2 -rw y-> 1'],
  ],
  ['a read of two states', ['1 wx01 wy01', '2 rx0 ry01'], 'x01 y01', ['1 -wr y-> 2 -rw x-> 1']],
  [
    'two reads that see two writes in different order',
    ['1 wx01', '2 wy02', '3 rx01 ry0', '4 rx0 ry02'],
    'x01 y02',
    ['1 -wr x-> 3 -rw y-> 2 -wr y-> 4 -rw x-> 1'],
  ],
  ['two that read each other', ['1 wx01 ry02', '2 wy02 rx01'], 'x01 y02', ['1 -wr x-> 2 -wr y-> 1']],
  ['writes in different order', ['1 wx01 wy021', '2 wx012 wy02'], 'x012 y021', ['1 -ww x-> 2 -ww y-> 1']],
  ['a read of what was not yet ready', ['1 wx01 wx01a', '2 rx01'], 'x01a y0', ['1 -wr x-> 2 -rw x-> 1']],
  ['a read of what was refused', ['1- sx1 sy1', '2 rx01'], 'x0 y0', ['refused, but seen: 1']],
  ['a write that has gone', ['1 wx01'], 'x0 y0', ['lost: 1']],
  [
    'an old read by a client that knows better',
    ['1@a wx01', '2@a rx0'],
    'x01 y0',
    ['1 -then a-> 2 -rw x-> 1'],
  ],
  ['an old read by another', ['1@a wx01', '2@b rx0'], 'x01 y0', []],
  ['a version that is two', ['1 wx01', '2 rx01!'], 'x01 y0', ['two versions by x1']],
  ['an unknown end that was none', ['1? sx1 sy1', '2 rx0 wx02'], 'x02 y0', []],
  ['an unknown end that was seen by its trail alone', ['1? sx1 sy1', '2 wx012'], 'x012 y01', []],
  ['an unknown end in part', ['1? sx1 sy1', '2 wx012'], 'x012 y0', ['in part: 1']],
  [
    'an unknown end whose order counts',
    ['1? sx1 sy1', '2 wx012', '3 rx012 ry0'],
    'x012 y01',
    ['1 -ww x-> 2 -wr x-> 3 -rw y-> 1'],
  ],
  ['two unknown ends, either of which came first', ['1? sx1', '2? sx2', '3 wx0123'], 'x0123 y0', []],
])('%s', (_, lines, last, found) => {
  expect(checkHistory(readHistory(lines, last))).toEqual(found)
})

test('a sum that is not kept', () => {
  const history = readHistory(['1 rx0 ry0', '2 rx0 ry0'], 'x0 y0')
  const [first, one, other] = history.transactions
  if (!first || !one || !other) throw new Error('too few')
  const poor = { ...other, reads: other.reads.map((version) => ({ ...version, balance: 9 })) }
  expect(checkHistory({ ...history, transactions: [first, one, poor] })).toContain('another sum: 2')
})
