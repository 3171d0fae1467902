/** Characters in JSON that move the cursor, change the direction of writing, or are invisible. */
const UNSEEN = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

/**
 * Writes a value as JSON in which every character is visible. Invisible characters are escaped, such as `\u009b`. The
 * JSON keeps its meaning.
 */
export const toJsonText = (value: unknown, indent?: number): string =>
  JSON.stringify(value, null, indent).replace(UNSEEN, (character) =>
    Array.from(
      { length: character.length },
      (_, i) => `\\u${character.charCodeAt(i).toString(16).padStart(4, '0')}`,
    ).join(''),
  )
