/**
 * Creates a function that receives the text of a JSON array in pieces of any size, and returns the text of each element
 * that a piece completes. It buffers only the element that is not complete yet.
 */
export function createElementReader(): (piece: string) => readonly string[] {
  let [pending, depth] = ['', 0]
  let [isInText, isEscaped] = [false, false]
  return (piece) => {
    const found: string[] = []
    let start = 0
    const end = (at: number): void => {
      const text = (pending + piece.slice(start, at)).trim()
      if (text !== '') found.push(text)
      pending = ''
      start = at + 1
    }
    for (let i = 0; i < piece.length; i++) {
      const character = piece[i]
      if (isInText) {
        if (isEscaped) isEscaped = false
        else if (character === '\\') isEscaped = true
        else if (character === '"') isInText = false
      } else if (character === '"') isInText = true
      else if (character === '[' || character === '{') {
        depth++
        if (depth === 1) start = i + 1
      } else if (character === ']' || character === '}') {
        depth--
        if (depth === 0) end(i)
      } else if (character === ',' && depth === 1) end(i)
    }
    if (depth > 0) pending += piece.slice(start)
    return found
  }
}
