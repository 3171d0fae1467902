import { WIDTH } from '../insight/text/layout.js'
import { coloured, type Paint, plain } from '../insight/text/paint.js'

/** Prints text for people. */
export interface Terminal {
  /** Prints a line of the result. */
  readonly print: (line: string) => void
  /** Prints what is said once, however many processes there are. Default: `print`. */
  readonly announce?: (line: string) => void
  /** Prints a line about an error. */
  readonly complain: (line: string) => void
  /** Whether results may be coloured: on a terminal, and where nobody objects (no-color.org). */
  readonly isColoured?: boolean
  /** How wide tables may be, in characters, where that is less than they would be by themselves. */
  readonly width?: number
}

/** Tables of fewer characters cannot be read. */
const NARROW = 60

/**
 * The terminal of this process. After a reader such as `head` closes the pipe, the process continues and
 * prints no more.
 */
export function createTerminal({ stdout, stderr }: Pick<NodeJS.Process, 'stdout' | 'stderr'>): Terminal {
  const open = (stream: NodeJS.WriteStream) => {
    let isGone = false
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error
      isGone = true
    })
    return (line: string): void => {
      if (!isGone) stream.write(`${line}\n`)
    }
  }
  return {
    print: open(stdout),
    complain: open(stderr),
    isColoured: stdout.isTTY && stdout.hasColors(),
    ...(stdout.isTTY && stdout.columns < WIDTH ? { width: Math.max(stdout.columns, NARROW) } : {}),
  }
}

/** How text for people looks on a terminal. */
export const textFor = ({
  isColoured,
  width,
}: Terminal): { readonly paint: Paint; readonly width?: number } => ({
  paint: isColoured ? coloured : plain,
  ...(width === undefined ? {} : { width }),
})
