/** Characters that end a line, move the cursor, change the writing direction, or are invisible. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu

/** Converts a text to one line: each character that is not visible is written by its code point, such as `\u{9b}`. */
export const toPrintable = (text: string): string =>
  text.replace(UNSEEN, (character) =>
    character === '\n' ? '\\n' : `\\u{${character.codePointAt(0)?.toString(16)}}`,
  )
