/** Colours text for a terminal, or returns it unchanged. */
export type Paint = (colour: Colour, text: string) => string

/** The SGR sequences of ECMA-48: the codes that begin and end each style. */
const COLOURS = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
} as const

export type Colour = keyof typeof COLOURS

export const plain: Paint = (_, text) => text

/** Colours text. */
export const coloured: Paint = (colour, text) => {
  const [begin, end] = COLOURS[colour]
  return `\u001b[${begin}m${text}\u001b[${end}m`
}
