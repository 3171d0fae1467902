import { type Answered, digestOf, type Service } from './service.js'

/** Requests of many clients that go on, whatever they are answered. */
export interface Load {
  /** How often each answer came since it was last asked for. */
  takeAnswers(): { readonly [answer: string]: number }
  /** Codes of the documents whose creation was answered by 201. */
  readonly acknowledged: ReadonlySet<string>
  /** Codes of those that are said not to have been created. */
  readonly refused: ReadonlySet<string>
  stop(): Promise<void>
}

/** What an answer says, in words that a test can list. */
function describeAnswer({ status, code, retryAfter }: Answered): string {
  if (status < 400) return String(status)
  return `${status} ${code}${retryAfter === null ? '' : ', Retry-After'}`
}

/** Answers that a client may get while the storage cannot be reached. */
export const FAULTS: readonly string[] = [
  '503 storage_unavailable, Retry-After',
  '503 overloaded, Retry-After',
  '503 outcome_unknown',
]

export function startLoad(service: Service, clients: number): Load {
  let answers: { [answer: string]: number } = {}
  const acknowledged = new Set<string>()
  const refused = new Set<string>()
  let isRunning = true
  let serial = 0

  const note = (answer: Answered): void => {
    const words = describeAnswer(answer)
    answers[words] = (answers[words] ?? 0) + 1
  }
  const create = async (): Promise<void> => {
    const code = `load-${serial++}`
    const answer = await service.send('POST /things', { code, text: code, digest: digestOf(code) })
    note(answer)
    if (answer.status === 201) acknowledged.add(code)
    else if (answer.code !== 'outcome_unknown') refused.add(code)
  }
  const client = async (): Promise<void> => {
    while (isRunning) {
      await create()
      note(await service.send(`GET /things?q[code]=load-${serial - 1}`))
      // A refusal may come without any wait: what else goes on here needs its turn.
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  const running = Array.from({ length: clients }, client)
  return {
    takeAnswers() {
      const taken = answers
      answers = {}
      return taken
    },
    acknowledged,
    refused,
    async stop() {
      isRunning = false
      await Promise.all(running)
    },
  }
}
