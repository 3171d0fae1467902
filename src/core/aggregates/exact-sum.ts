/** A decimal number: `digits` · 10^−`places`. */
interface Decimal {
  readonly digits: bigint
  readonly places: number
}

/** The powers of ten that a double holds exactly. */
const POWERS: readonly number[] = Array.from({ length: 23 }, (_, places) => Number(`1e${places}`))

/**
 * Two different decimals of at most 15 digits are different doubles. So a decimal below this number of units that is
 * read as a double is the decimal that JSON shows for this double.
 */
const UNITS = 1e15

/**
 * The exact sum of decimals: of those that JSON shows for doubles. Adding in another order, or in parts, gives the same
 * sum. It is rounded once, when it is read.
 */
export class ExactSum {
  /** The number of values that were added. */
  values = 0
  /** A part of the sum in units of 10^−`#places`: at most 2^53−1 units. The other part is `#rest`. */
  #units = 0
  #places = 0
  #rest: Decimal | undefined

  /** Adds a double. An infinite number counts as the greatest finite one. */
  add(value: number): void {
    this.values += 1
    const power = POWERS[this.#places] ?? 1
    const units = Math.round(value * power)
    if (units / power === value && Math.abs(units) < UNITS) this.#addUnits(units)
    else this.#addOther(Number.isFinite(value) ? value : Math.sign(value) * Number.MAX_VALUE)
  }

  /** Adds the sum of `values` values, as `toDecimal` writes it, or in any notation of JSON. */
  addDecimal(text: string, values: number): void {
    this.values += values
    const decimal = parseDecimal(text)
    const units = Number(decimal.digits)
    // Units of a fresh sum are rounded faster.
    if (!this.#rest && this.#units === 0 && Number.isSafeInteger(units) && decimal.places < POWERS.length) {
      this.#units = units
      this.#places = decimal.places
    } else this.#addDecimal(decimal)
  }

  /** Returns the exact sum as text. */
  toDecimal(): string {
    const { digits, places } = this.#whole()
    return `${digits}e${-places}`
  }

  /** Returns the sum as the nearest double, ties to even; beyond the range of doubles, the greatest finite one. */
  sum(): number {
    return this.#divideBy(1)
  }

  /** Returns the exact sum divided by the number of values, rounded once; `null` without values. */
  average(): number | null {
    return this.values === 0 ? null : this.#divideBy(this.values)
  }

  #addUnits(units: number): void {
    const total = this.#units + units
    if (Number.isSafeInteger(total)) {
      this.#units = total
    } else {
      this.#putAside()
      this.#units = units
    }
  }

  /** Adds a double that is no whole number of the current units: in smaller units, or digit by digit. */
  #addOther(value: number): void {
    for (let places = this.#places + 1; places < POWERS.length; places++) {
      const power = POWERS[places] ?? 1
      const units = Math.round(value * power)
      if (!(Math.abs(units) < UNITS)) break
      if (units / power !== value) continue
      this.#putAside()
      this.#places = places
      this.#units = units
      return
    }
    this.#addDecimal(parseDecimal(String(value)))
  }

  #addDecimal(decimal: Decimal): void {
    this.#rest = this.#rest ? addDecimals(this.#rest, decimal) : decimal
  }

  /** Adds the units to `#rest`. */
  #putAside(): void {
    if (this.#units !== 0) this.#addDecimal({ digits: BigInt(this.#units), places: this.#places })
    this.#units = 0
  }

  #whole(): Decimal {
    const units = { digits: BigInt(this.#units), places: this.#places }
    return this.#rest ? addDecimals(this.#rest, units) : units
  }

  #divideBy(divisor: number): number {
    const power = POWERS[this.#places] ?? 1
    // The quotient of two exact numbers is rounded once.
    if (!this.#rest && (divisor === 1 || power * divisor <= Number.MAX_SAFE_INTEGER))
      return this.#units / (power * divisor) || 0
    const { digits, places } = this.#whole()
    return roundQuotient(digits, 10n ** BigInt(places) * BigInt(divisor))
  }
}

function addDecimals(a: Decimal, b: Decimal): Decimal {
  const places = Math.max(a.places, b.places)
  return { digits: digitsAt(a, places) + digitsAt(b, places), places }
}

const digitsAt = ({ digits, places }: Decimal, more: number): bigint =>
  more === places ? digits : digits * 10n ** BigInt(more - places)

const DECIMAL = /^(-?)(\d+)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/

function parseDecimal(text: string): Decimal {
  const parts = DECIMAL.exec(text)
  if (!parts) throw new Error(`${JSON.stringify(text.slice(0, 32))} is no decimal number`)
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = parts
  const digits = BigInt(`${sign}${whole}${fraction}`)
  const places = fraction.length - Number(exponent)
  return places >= 0 ? { digits, places } : { digits: digits * 10n ** BigInt(-places), places: 0 }
}

const lengthOf = (positive: bigint): number => positive.toString(2).length

/** The bits of a double's significand, and the bits after the point of the smallest double. */
const [SIGNIFICAND, SMALLEST] = [53, 1074]

/** Returns the double that is nearest to a quotient, ties to even. `divisor` is positive. */
export function roundQuotient(dividend: bigint, divisor: bigint): number {
  if (dividend === 0n) return 0
  const positive = dividend < 0n ? -dividend : dividend
  const rounded = roundPositive(positive, divisor)
  return dividend < 0n ? -rounded || 0 : rounded
}

function roundPositive(dividend: bigint, divisor: bigint): number {
  // With so many bits after the point, the quotient has 53 bits, or 54.
  const most = SIGNIFICAND + lengthOf(divisor) - lengthOf(dividend)
  const [upper, lower] = [shift(dividend, most), shift(divisor, -most)]
  const bits = Math.min(lengthOf(upper / lower) > SIGNIFICAND ? most - 1 : most, SMALLEST)
  const [whole, part] = [shift(dividend, bits), shift(divisor, -bits)]
  const floor = whole / part
  const twice = 2n * (whole % part)
  const isUp = twice > part || (twice === part && (floor & 1n) === 1n)
  const significand = Number(isUp ? floor + 1n : floor)
  // Both factors and their product are exact. The power is split, because it may be smaller than the smallest double.
  const half = Math.trunc(bits / 2)
  return Math.min(significand * 2 ** -half * 2 ** (half - bits), Number.MAX_VALUE)
}

/** Multiplies by a power of two; a negative power counts as none. */
const shift = (number: bigint, bits: number): bigint => (bits > 0 ? number << BigInt(bits) : number)
