import { describe, expect, test } from 'vitest'
import { ExactSum, roundQuotient } from '../../../../src/core/aggregates/exact-sum.js'
import fc from '../../../support/fast-check.js'
import { rounds } from '../../../support/tier.js'

/** A fraction of two whole numbers; `below` is positive. */
interface Fraction {
  readonly above: bigint
  readonly below: bigint
}

/** The decimal that JSON shows for a double, as a fraction. */
function shown(value: number): Fraction {
  const [digits = '', exponent = '0'] = JSON.stringify(value).split('e')
  const [whole = '', part = ''] = digits.split('.')
  const places = part.length - Number(exponent)
  const above = BigInt(whole + part)
  return places >= 0
    ? { above, below: 10n ** BigInt(places) }
    : { above: above * 10n ** BigInt(-places), below: 1n }
}

const plus = (a: Fraction, b: Fraction): Fraction => ({
  above: a.above * b.below + b.above * a.below,
  below: a.below * b.below,
})

/** The value of a finite double itself, as a fraction. */
function fractionOf(double: number): Fraction {
  let [above, exponent] = [double, 0]
  while (!Number.isInteger(above)) {
    above *= 2
    exponent += 1
  }
  return { above: BigInt(above), below: 2n ** BigInt(exponent) }
}

const distance = (a: Fraction, b: Fraction): Fraction => {
  const above = a.above * b.below - b.above * a.below
  return { above: above < 0n ? -above : above, below: a.below * b.below }
}

const isLess = (a: Fraction, b: Fraction): boolean => a.above * b.below < b.above * a.below

/** The next double in a direction, by its bits. */
function next(double: number, up: boolean): number {
  const view = new DataView(new ArrayBuffer(8))
  view.setFloat64(0, double)
  const bits = view.getBigInt64(0)
  if (double === 0) return up ? Number.MIN_VALUE : -Number.MIN_VALUE
  view.setBigInt64(0, bits + (double > 0 === up ? 1n : -1n))
  return view.getFloat64(0)
}

const isEven = (double: number): boolean => {
  const view = new DataView(new ArrayBuffer(8))
  view.setFloat64(0, double)
  return (view.getBigInt64(0) & 1n) === 0n
}

/** Whether no other double is nearer to a fraction, or as near with an even last bit. */
function isNearest(double: number, exact: Fraction): boolean {
  const own = distance(fractionOf(double), exact)
  return [true, false].every((up) => {
    const other = next(double, up)
    if (!Number.isFinite(other)) return true
    const theirs = distance(fractionOf(other), exact)
    return isLess(own, theirs) || (!isLess(theirs, own) && isEven(double))
  })
}

const number = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.integer({ min: -1_000_000, max: 1_000_000 }).map((units) => units / 100),
  fc.integer(),
  fc.constantFrom(
    0,
    -0,
    0.1,
    0.2,
    5e-324,
    -5e-324,
    1e-22,
    1e22,
    2 ** 53 - 1,
    1 - 2 ** 53,
    1e15,
    1e300,
    0.1 + 0.2,
  ),
)

const sumOf = (values: readonly number[]): ExactSum => {
  const sum = new ExactSum()
  for (const value of values) sum.add(value)
  return sum
}

describe('exact sums', () => {
  test('the sum and the average are the nearest doubles of what JSON shows', () => {
    fc.assert(
      fc.property(fc.array(number, { minLength: 1, maxLength: 12 }), (values) => {
        const exact = values.map(shown).reduce(plus)
        const sum = sumOf(values)
        expect(isNearest(sum.sum(), exact)).toBe(true)
        const average = { above: exact.above, below: exact.below * BigInt(values.length) }
        expect(isNearest(Number(sum.average()), average)).toBe(true)
        expect(Object.is(sum.sum(), -0)).toBe(false)
        expect(Object.is(sum.average(), -0)).toBe(false)
      }),
      { numRuns: rounds(2000) },
    )
  })

  test('any order and any parts have the same sum', () => {
    fc.assert(
      fc.property(
        fc.array(fc.array(number), { minLength: 1, maxLength: 4 }),
        fc.infiniteStream(fc.nat()),
        (parts, picks) => {
          const merged = new ExactSum()
          for (const part of parts) {
            const sum = sumOf(part)
            merged.addDecimal(sum.toDecimal(), sum.values)
          }
          const all = parts.flat()
          const shuffled: number[] = []
          for (const left = [...all]; left.length > 0; )
            shuffled.push(...left.splice(Number(picks.next().value) % left.length, 1))
          for (const sum of [sumOf(all), sumOf(shuffled)]) {
            expect(sum.sum()).toBe(merged.sum())
            expect(sum.average()).toBe(merged.average())
            expect(sum.values).toBe(merged.values)
          }
        },
      ),
      { numRuns: rounds(1000) },
    )
  })

  test('known sums', () => {
    expect(sumOf([0.1, 0.2]).sum()).toBe(0.3)
    expect(sumOf([0.1, 0.2]).average()).toBe(0.15)
    expect(sumOf([]).sum()).toBe(0)
    expect(sumOf([]).average()).toBeNull()
    expect(sumOf([1e300, 1, -1e300]).sum()).toBe(1)
    expect(sumOf([5e-324, -5e-324]).sum()).toBe(0)
    expect(Object.is(sumOf([-5e-324, 0, 0]).average(), 0)).toBe(true)
    expect(sumOf([2 ** 53 - 1, 1, 1]).sum()).toBe(2 ** 53)
  })

  test('beyond the range of doubles, a sum is the greatest finite one', () => {
    expect(sumOf([Number.MAX_VALUE, Number.MAX_VALUE]).sum()).toBe(Number.MAX_VALUE)
    expect(sumOf([-Number.MAX_VALUE, -Number.MAX_VALUE]).sum()).toBe(-Number.MAX_VALUE)
    expect(sumOf([Number.MAX_VALUE, Number.MAX_VALUE]).average()).toBe(Number.MAX_VALUE)
    expect(sumOf([Number.POSITIVE_INFINITY, -Number.MAX_VALUE]).sum()).toBe(0)
  })

  test('decimals in other notations', () => {
    const sum = new ExactSum()
    for (const text of ['1.10', '-0.10', '12E2', '5e-1', '0.0', '123456789012345678901234567890'])
      sum.addDecimal(text, 1)
    expect(sum.values).toBe(6)
    expect(BigInt(sum.sum())).toBe(123456789012345677877719597056n)
    expect(() => sum.addDecimal('NaN', 1)).toThrow('no decimal')
  })

  test('quotients are rounded once, ties to even', () => {
    expect(roundQuotient(2n ** 53n + 1n, 1n)).toBe(2 ** 53)
    expect(roundQuotient(2n ** 53n + 3n, 1n)).toBe(2 ** 53 + 4)
    expect(roundQuotient(1n, 2n ** 1075n)).toBe(0)
    expect(roundQuotient(3n, 2n ** 1075n)).toBe(2 * Number.MIN_VALUE)
    expect(roundQuotient(-1n, 3n)).toBe(-1 / 3)
    expect(roundQuotient(0n, 7n)).toBe(0)
  })
})
