import { expect, test } from 'vitest'
import type * as Format from '../../src/tools/transfer/dump-format.js'
import { dump, load } from '../../src/tools/transfer/index.js'
import type * as Lines from '../../src/tools/transfer/parse-line.js'
import { checkTransfer, type Transfer } from '../support/transfer-laws.js'
import { choose } from './choose.js'
import { fails, loadMutant, type Mutant } from './create-mutant.js'

/** Dumps and loads, broken on purpose. */

const FORMAT = '../../src/tools/transfer/dump-format.js'
const LINES = '../../src/tools/transfer/parse-line.js'

const brokenFormat = (what: string, change: (format: typeof Format) => Partial<typeof Format>): Mutant => [
  what,
  FORMAT,
  async (original) => {
    const format = (await original()) as typeof Format
    return { ...format, ...change(format) }
  },
]

const brokenLines = (what: string, change: (lines: typeof Lines) => Partial<typeof Lines>): Mutant => [
  what,
  LINES,
  async (original) => {
    const lines = (await original()) as typeof Lines
    return { ...lines, ...change(lines) }
  },
]

/** The original of `dump` or `load`, called with other arguments. */
const brokenCall = (
  what: string,
  module: 'dump' | 'load',
  change: (transfer: Transfer) => object,
): Mutant => [
  what,
  `../../src/tools/transfer/${module}.js`,
  async (original) => {
    const whole = (await original()) as Transfer
    return { ...whole, ...change(whole) }
  },
]

const mutants: readonly Mutant[] = [
  brokenFormat('digests are not compared', ({ createTally }) => ({
    createTally: () => {
      const { add, result } = createTally()
      return { add, result: () => ({ ...result(), sha256: '0'.repeat(64) }) }
    },
  })),
  brokenFormat('the digest leaves out versions', ({ createTally }) => ({
    createTally: () => {
      const { add, result } = createTally()
      return { add: (document) => add({ ...document, _version: 1 }), result }
    },
  })),
  brokenFormat('hashes are left out', ({ printLine }) => ({
    printLine: (line) =>
      printLine('document' in line ? { ...line, document: { ...line.document, _hashes: {} } } : line),
  })),
  brokenFormat('the keys of values are sorted', ({ printLine, printSorted }) => ({
    printLine: (line) => printLine(JSON.parse(printSorted(line))),
  })),
  brokenLines('the version is that of a new document', ({ parseDocument }) => ({
    parseDocument: (value, line) => {
      const { document, ...others } = parseDocument(value, line)
      return { ...others, document: { ...document, _version: 1 } }
    },
  })),
  brokenLines('a dump that was cut off is accepted', ({ parseObject }) => ({
    parseObject: (line, cutOff) => {
      try {
        return parseObject(line, cutOff)
      } catch (thrown) {
        if (line.isWhole) throw thrown
        return { end: {} }
      }
    },
    parseEnd: (_, __, collections) =>
      Object.fromEntries(collections.map((name) => [name, { documents: 0, sha256: '' }])),
  })),
  brokenCall('sessions are always dumped', 'dump', ({ dump }) => ({
    dump: (config: unknown, storage: never, write: never) => dump(config, storage, write, { sessions: true }),
  })),
  brokenCall('counted logins are dumped too', 'dump', ({ dump }) => ({
    async dump(
      config: unknown,
      storage: Parameters<typeof dump>[1],
      write: (text: string) => void,
      options: object = {},
    ) {
      const snapshot = await storage.snapshot?.()
      const ledgers = (await snapshot?.next('_ledgers', '')) ?? []
      const lines = ledgers.map((document) => `${JSON.stringify({ in: '_ledgers', document })}\n`)
      const writeAll = (text: string) => {
        write((text.startsWith('{"end"') ? lines.join('') : '') + text)
      }
      return dump(config, storage, writeAll, options)
    },
  })),
]

test('the library itself passes', () => checkTransfer({ dump, load }), 60_000)

test.each(choose(mutants).map((one) => [one[0], one] as const))(
  '%s: caught',
  async (_, mutant) => {
    const transfer = await loadMutant(mutant, () => import('../../src/tools/transfer/index.js'))
    expect(await fails(checkTransfer(transfer))).toBe(true)
  },
  60_000,
)
