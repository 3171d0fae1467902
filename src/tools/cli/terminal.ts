import { WIDTH } from '../insight/text/layout.js'
import { coloured, type Paint, plain } from '../insight/text/paint.js'

/** A stream that a process writes to, a terminal or not. */
interface Output {
  write(text: string): unknown
  on(event: 'error', listener: (error: NodeJS.ErrnoException) => void): unknown
  readonly isTTY?: boolean
  hasColors?(): boolean
  readonly columns?: number
}

/** The output streams of a process. */
export interface Outputs {
  readonly stdout: Output
  readonly stderr: Output
}

/** Prints text for people. */
export interface Terminal {
  /** Prints a line of the result. */
  readonly print: (line: string) => void
  /** Prints a message once, independent of the number of processes. Default: `print`. */
  readonly announce?: (line: string) => void
  /** Prints a line about an error. */
  readonly complain: (line: string) => void
  /** Whether results may be coloured: on a terminal, unless disabled (no-color.org). */
  readonly isColoured?: boolean
  /** The width of tables, in characters, if it is less than their own. */
  readonly width?: number
}

/** Narrower tables cannot be read. */
const NARROW = 60

/**
 * The terminal of this process. After a reader such as `head` closes the pipe, the process continues and
 * prints no more.
 */
export function createTerminal({ stdout, stderr }: Outputs): Terminal {
  const open = (stream: Output) => {
    let isGone = false
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error
      isGone = true
    })
    return (line: string): void => {
      if (!isGone) stream.write(`${line}\n`)
    }
  }
  const { columns = WIDTH } = stdout
  return {
    print: open(stdout),
    complain: open(stderr),
    isColoured: stdout.isTTY === true && stdout.hasColors?.() === true,
    ...(stdout.isTTY && columns < WIDTH ? { width: Math.max(columns, NARROW) } : {}),
  }
}

/** The style of text for people on a terminal. */
export const textFor = ({
  isColoured,
  width,
}: Terminal): { readonly paint: Paint; readonly width?: number } => ({
  paint: isColoured ? coloured : plain,
  ...(width === undefined ? {} : { width }),
})
