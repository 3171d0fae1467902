/**
 * Orders two strings by Unicode code point: negative, zero or positive. JavaScript's own `<` orders by UTF-16
 * unit, which puts U+10000 and above before U+E000 to U+FFFF.
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

// Ranks surrogates, which begin the code points above U+FFFF, after all other units.
const codePointRank = (unit: number): number =>
  unit < 0xd800 ? unit : unit < 0xe000 ? unit + 0x2000 : unit - 0x800
