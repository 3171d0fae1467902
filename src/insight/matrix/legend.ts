import { toPrintable } from '../../service/start/printable.js'
import type { Paint } from '../text/paint.js'
import { breakText } from './grid.js'

/** The meaning of a letter or a name, and its pointers. */
export interface LegendEntry {
  readonly name: string
  readonly text: string
  readonly pointers: readonly string[]
}

/** The gap before the pointers. */
const GAP = 3

/** Narrower texts cannot be read. */
const NARROW = 24

/** Lays out notes in three columns; if they are wider than `width`, their texts are wrapped. */
export function layOutNotes(notes: readonly LegendEntry[], width: number, paint: Paint): readonly string[] {
  const widest = (texts: readonly string[]): number => Math.max(0, ...texts.map(({ length }) => length))
  const printable = notes.map((note) => ({ ...note, pointers: note.pointers.map(toPrintable) }))
  const names = widest(notes.map(({ name }) => name)) + 2
  const pointers = widest(printable.flatMap((note) => note.pointers))
  const room = Math.max(NARROW, width - names - GAP - pointers)
  const texts = Math.min(widest(notes.map(({ text }) => text)), room)
  return printable.flatMap(({ name, text, pointers: places }) => {
    const said = breakText(text, texts)
    const where = places.flatMap((place) => breakText(place, width - names - texts - GAP))
    return Array.from({ length: Math.max(said.length, where.length) }, (_, line) => {
      const left = `${(line === 0 ? name : '').padEnd(names)}${said[line] ?? ''}`
      const place = where[line]
      return place === undefined ? left : left.padEnd(names + texts + GAP) + paint('dim', place)
    })
  })
}
