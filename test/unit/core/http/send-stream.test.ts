import { describe, expect, test } from 'vitest'
import { bounds } from '../../../../src/core/bounds.js'
import { piecesOf } from '../../../../src/core/http/send-stream.js'

const PIECE = bounds.sentCharacters

describe('the pieces of a text', () => {
  test.each([0, 1, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE + 7])('of %i characters are the text', (length) => {
    const text = 'x'.repeat(length)
    const pieces = [...piecesOf(text)]
    expect(pieces.join('') === text).toBe(true)
    expect(pieces).toHaveLength(Math.ceil(length / PIECE))
  })

  test.each(['', 'x'])('do not divide what is one character, behind "%s"', (before) => {
    const text = before + '😀'.repeat(PIECE)
    const decoded = [...piecesOf(text)].map((piece) => {
      expect(piece.isWellFormed()).toBe(true)
      return new TextDecoder().decode(new TextEncoder().encode(piece))
    })
    expect(decoded.join('') === text).toBe(true)
  })

  test('of text that is not well-formed are that text', () => {
    const text = '\ud83d'.repeat(PIECE + 5)
    expect([...piecesOf(text)].join('') === text).toBe(true)
  })
})
