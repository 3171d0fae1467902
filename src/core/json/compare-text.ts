/**
 * Compares two strings by Unicode code point; returns a negative number, zero or a positive number.
 * JavaScript's own `<` compares UTF-16 units, which puts U+10000 and above before U+E000 to U+FFFF.
 */
export function compareText(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i)
    const y = b.charCodeAt(i)
    if (x !== y) return codePointRank(x) - codePointRank(y)
  }
  return a.length - b.length
}

// Ranks surrogates, with which the code points above U+FFFF begin, after all other units.
const codePointRank = (unit: number): number =>
  unit < 0xd800 ? unit : unit < 0xe000 ? unit + 0x2000 : unit - 0x800
