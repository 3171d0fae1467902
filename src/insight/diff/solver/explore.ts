import { assume, EMPTY, type State, touch } from './state.js'
import { type Atom, keysOf, type Model, type Variables } from './variable.js'

/** Decides an atom: what follows from what was decided, or else one of both, and later the other. */
export type Ask = (atom: Atom) => boolean

/** How many decisions may still be made. */
export interface Budget {
  left: number
}

/** Thrown when a budget is used up. */
export class Undecided extends Error {}

/** Thrown where some variable has no value at all: what is asked then never happens. */
class Impossible extends Error {}

/** Ends one run where it asks for what cannot be. */
function attempt(run: () => void): void {
  try {
    run()
  } catch (thrown) {
    if (!(thrown instanceof Impossible)) throw thrown
  }
}

/**
 * Runs a decision once for each set of answers that do not contradict each other. Only what is asked is decided; each
 * run ends with a model of its answers.
 */
export function explore(
  variables: Variables,
  budget: Budget,
  run: (ask: Ask, readModel: () => Model) => void,
): void {
  let state = EMPTY
  let answers: boolean[] = []
  const open: { readonly answers: boolean[]; readonly state: State }[] = []
  for (;;) {
    let at = 0
    attempt(() =>
      run(
        (atom) => {
          const known = answers[at]
          at += 1
          if (known !== undefined) return known
          const touched = touch(variables, state, keysOf(atom))
          const yes = touched && assume(variables, touched, { atom, holds: true })
          const no = touched && assume(variables, touched, { atom, holds: false })
          if (yes && no) {
            budget.left -= 1
            if (budget.left < 0) throw new Undecided()
            open.push({ answers: [...answers, true], state: yes })
          }
          const next = no ?? yes
          if (!next) throw new Impossible()
          state = next
          answers.push(no === undefined)
          return no === undefined
        },
        () => state.model,
      ),
    )
    const next = open.pop()
    if (!next) return
    state = next.state
    answers = next.answers
  }
}
