/** Where a command says things to people. */
export interface Terminal {
  /** Writes a line of what was asked for. */
  readonly print: (line: string) => void
  /** Writes a line of what went wrong. */
  readonly complain: (line: string) => void
}

/** The terminal of this process. Where a reader like `head` goes away, the process goes on and prints no more. */
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
  return { print: open(stdout), complain: open(stderr) }
}
