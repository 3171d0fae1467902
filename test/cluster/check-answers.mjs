import { createHash } from 'node:crypto'

/** The deadline of requests in `config.mjs`, and how late an answer may be. */
const DEADLINE = 10
const LATE = 1

/** How soon after there is a leader something is written again. */
const AGAIN = 5

const digestOf = (text) => createHash('sha256').update(text).digest('hex')
const isUnknown = ({ code }) => code === 'outcome_unknown'
const isDone = ({ status }) => status < 400

/** Holds what was answered against what is stored: the figures as Markdown, and what is wrong. */
export function checkAnswers({ answers, stored, rounds, ways }) {
  const faults = []
  const fault = (words) => void faults.push(words)
  const of = (kind) => answers.filter((answer) => answer.kind === kind)

  // Everything that is created: there, not there, or unknown.
  const codes = new Map(stored.things.map((thing) => [thing.code, thing]))
  const ids = new Set(stored.things.map(({ _id }) => _id))
  const removed = of('remove')
  const mayBeGone = new Set(
    removed.filter((answer) => isDone(answer) || isUnknown(answer)).map(({ id }) => id),
  )
  if (codes.size !== stored.things.length) fault('a unique value is there twice')
  for (const { code, digest } of stored.things)
    if (digest !== digestOf(code)) fault(`${code} is there in part`)
  let lost = 0
  const unknown = { there: 0, not: 0 }
  const note = (isThere) => {
    unknown[isThere ? 'there' : 'not'] += 1
  }
  for (const answer of of('create')) {
    const isThere = codes.has(answer.thing)
    if (isDone(answer) && !isThere && !mayBeGone.has(answer.id)) lost += 1
    if (isUnknown(answer)) note(isThere)
    if (!isDone(answer) && !isUnknown(answer) && isThere) fault(`${answer.thing} was refused and is there`)
  }
  const contested = new Map()
  for (const answer of of('contest')) {
    const made = contested.get(answer.thing) ?? { done: 0, unknown: 0 }
    contested.set(answer.thing, made)
    if (isDone(answer)) made.done += 1
    if (isUnknown(answer)) made.unknown += 1
  }
  for (const [code, { done, unknown }] of contested) {
    const isThere = codes.has(code)
    if (done > 1) fault(`${code} was created ${done} times`)
    if (done === 1 && !isThere) lost += 1
    if (isThere && done + unknown === 0) fault(`${code} was refused and is there`)
  }
  let parts = 0
  for (const answer of of('batch')) {
    const there = answer.things.filter((code) => codes.has(code)).length
    if (there === 1) parts += 1
    if (isDone(answer) && there === 0) lost += 1
    if (isUnknown(answer)) note(there > 0)
    if (!isDone(answer) && !isUnknown(answer) && there > 0) fault('a refused batch is there')
  }
  for (const answer of removed) if (isDone(answer) && ids.has(answer.id)) lost += 1
  const marks = new Map(stored.marks.map(({ _id, thing }) => [_id, thing]))
  const dangling = stored.marks.filter(({ thing }) => !ids.has(thing)).length
  for (const answer of of('mark')) if (isDone(answer) && !marks.has(answer.mark)) lost += 1

  const { stale, breaks } = checkRegisters([...of('read'), ...of('update')], stored.registers, fault, rounds)

  const durations = answers.map(({ begin, end }) => end - begin)
  const longest = durations.reduce((most, one) => Math.max(most, one), 0)
  const late = durations.filter((one) => one > DEADLINE + LATE).length
  const broken = answers.filter(({ status }) => status === 500).length
  const unexplained = answers.filter(
    ({ status, code, retryAfter }) => status === 503 && code !== 'outcome_unknown' && !retryAfter,
  ).length
  if (lost > 0) fault(`${lost} acknowledged writes are lost`)
  if (parts > 0) fault(`${parts} batches are there in part`)
  if (dangling > 0) fault(`${dangling} references dangle`)
  if (breaks > 0) fault(`${breaks} answers about one document are not linearizable`)
  if (late > 0) fault(`${late} answers came more than ${LATE} s after their deadline`)
  if (broken > 0) fault(`${broken} answers are 500`)
  if (unexplained > 0) fault(`${unexplained} answers are 503 without Retry-After`)

  const writes = answers.filter((answer) => !/^read$/.test(answer.kind) && isDone(answer))
  const rows = rounds.map((round, i) => {
    const cells = ways.map((way) => {
      const ends = writes.filter(
        (one) => one.way === way && one.begin >= round.begin - 3 && one.end <= round.end + 3,
      )
      const sorted = ends.map(({ end }) => end).sort((a, b) => a - b)
      const first = sorted.find((end) => end > round.led)
      const again = first === undefined ? Number.POSITIVE_INFINITY : first - round.led
      const gap = sorted.reduce((most, end, at) => (at > 0 ? Math.max(most, end - sorted[at - 1]) : most), 0)
      return { way, again, gap }
    })
    for (const { way, again } of cells)
      if (again > AGAIN) fault(`round ${i + 1}: ${way} writes ${again.toFixed(1)} s after there is a leader`)
    return { ...round, cells }
  })
  const table = [
    `| | fault | a leader after | ${ways.map((way) => `${way}: writes again · longest gap`).join(' | ')} |`,
    `|---|---|---|${ways.map(() => '---|').join('')}`,
    ...rows.map(
      ({ fault, begin, led, cells }, i) =>
        `| ${i + 1} | ${fault} | ${(led - begin).toFixed(1)} s | ${cells
          .map(({ again, gap }) => `${Math.max(0, again).toFixed(1)} s · ${gap.toFixed(1)} s`)
          .join(' | ')} |`,
    ),
  ]
  const count = (holds) => answers.filter(holds).length
  const statuses = new Map()
  for (const { status, code } of answers) {
    const key = code ? `${status} ${code}` : String(status)
    statuses.set(key, (statuses.get(key) ?? 0) + 1)
  }
  const figures = [
    ['fail-overs', rounds.length],
    ['requests', answers.length],
    ['acknowledged writes', writes.length],
    ['acknowledged writes that are lost', lost],
    [
      '`outcome_unknown`',
      `${count(isUnknown)}; of creates and batches ${unknown.there} are there, ${unknown.not} are not`,
    ],
    ['batches that are there in part', parts],
    ['references that dangle', dangling],
    ['answers that are not linearizable (one document)', breaks],
    ['stale reads while a leader was stopped or came back', stale],
    ['answers 500', broken],
    ['longest request', `${longest.toFixed(1)} s, of a deadline of ${DEADLINE} s`],
    [
      'longest gap between acknowledged writes',
      `${Math.max(...rows.flatMap(({ cells }) => cells.map(({ gap }) => gap))).toFixed(1)} s`,
    ],
    [
      'answers',
      [...statuses]
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([key, times]) => `${key}: ${times}`)
        .join(', '),
    ],
  ]
  const report = [
    '# Fail-overs under load',
    '',
    'Written by `npm run test:cluster`; see `examples/several-machines/README.md` for what was done.',
    '',
    '| | |',
    '|---|---|',
    ...figures.map(([name, value]) => `| ${name} | ${value} |`),
    '',
    ...table,
    '',
    faults.length === 0
      ? 'Nothing was wrong.'
      : `Wrong:\n\n${faults
          .slice(0, 50)
          .map((one) => `- ${one}`)
          .join('\n')}`,
    '',
  ].join('\n')
  return { report, faults }
}

/**
 * Whether all that was answered about a document can have happened in one order that agrees with the clock: versions
 * are numbered, so that is the order of the numbers.
 */
function checkRegisters(answers, stored, fault, rounds) {
  let stale = 0
  let breaks = 0
  const isExcused = ({ begin, end }) =>
    rounds.some((round) => /SIGSTOP/.test(round.fault) && end > round.begin && begin < round.end)
  for (const { _id, n: last } of stored) {
    const seen = answers.filter(({ id, ...answer }) => id === _id && isDone(answer))
    const writers = new Map()
    for (const { n, writer, kind } of seen) {
      const known = writers.get(n)
      if (known !== undefined && known.writer !== writer) fault(`version ${n} of ${_id} is two`)
      if (kind === 'update' && known?.isWritten) fault(`version ${n} of ${_id} was written twice`)
      writers.set(n, { writer, isWritten: known?.isWritten || kind === 'update' })
    }
    if ([...writers.keys()].some((n) => n > last)) fault(`${_id} has lost its last versions`)
    const byEnd = [...seen].sort((a, b) => a.end - b.end)
    let most = 0
    let next = 0
    for (const one of [...seen].sort((a, b) => a.begin - b.begin)) {
      while (next < byEnd.length && byEnd[next].end < one.begin) most = Math.max(most, byEnd[next++].n)
      if (one.kind === 'update' ? one.n > most : one.n >= most) continue
      if (one.kind === 'read' && isExcused(one)) stale += 1
      else breaks += 1
    }
    const begun = new Map(
      answers
        .filter(({ id, kind }) => id === _id && kind === 'update')
        .map(({ writer, begin }) => [writer, begin]),
    )
    for (const { kind, writer, end, n } of seen)
      if (kind === 'read' && n > 0 && !(begun.get(writer) <= end))
        fault(`${_id}: version ${n} of nobody was read`)
  }
  return { stale, breaks }
}
