import { WIDTH } from '../insight/text/layout.js'
import { coloured, type Paint, plain } from '../insight/text/paint.js'
import { printEntry, type WriteEntry } from './log-entry.js'

/** An output stream of a process. It may be a terminal. */
export interface Output {
  write(text: string, onWritten?: (fault?: Error | null) => void): unknown
  on(event: 'error', listener: (error: NodeJS.ErrnoException) => void): unknown
  readonly isTTY?: boolean
  hasColors?(): boolean
  readonly columns?: number
}

export interface Outputs {
  readonly stdout: Output
  readonly stderr: Output
}

/** The functions that print text for people, and the style of that text. */
export interface Terminal {
  /** Prints a line of a command's result. */
  readonly print: (line: string) => void
  /** Prints a message that only one of several processes may print. Default: `print`. */
  readonly announce?: (line: string) => void
  /** Prints a warning that only one of several processes may print. Default: `complain`. */
  readonly warn?: (line: string) => void
  /** Prints an error message. */
  readonly complain: (line: string) => void
  /** Writes an entry of a log of JSON; absent if the log is text. */
  readonly writeEntry?: WriteEntry
  /** Whether results may have colours: on a terminal, unless the user has disabled colours (no-color.org). */
  readonly isColoured?: boolean
  /** The width available to tables, in characters; present only if it is less than their normal width. */
  readonly width?: number
}

/** The smallest width of a table, in characters. Narrower tables cannot be read. */
const NARROW = 60

/**
 * Creates the terminal of a process. A line that cannot be written is lost, and the process continues. If the reader of
 * a stream, such as `head`, closes the pipe, nothing more is printed to it.
 */
export function createTerminal({ stdout, stderr }: Outputs): Terminal {
  const open = (stream: Output) => {
    let isGone = false
    // After any other error, such as a full disk, the next line may be written again.
    stream.on('error', ({ code }: NodeJS.ErrnoException) => {
      isGone ||= code === 'EPIPE'
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

/**
 * Returns the terminal of a process whose log is JSON: all messages are entries of the log, on the standard output.
 * Platforms that collect logs take each line of the standard error for an error.
 */
export function logAsJson({ print }: Terminal): Terminal {
  const writeEntry: WriteEntry = (level, message, details) => print(printEntry(level, message, details))
  return {
    print: (line) => writeEntry('info', line.trim()),
    warn: (line) => writeEntry('warn', line.trim().replace(/^Warning: /, '')),
    complain: (line) => writeEntry('error', line.trim()),
    writeEntry,
  }
}

/** Returns the colours and width for text that is printed on a terminal. */
export const textFor = ({
  isColoured,
  width,
}: Terminal): { readonly paint: Paint; readonly width?: number } => ({
  paint: isColoured ? coloured : plain,
  ...(width === undefined ? {} : { width }),
})
