/** The number of decisions that are left. */
export interface Budget {
  left: number
}

/** Thrown when a budget is used up. */
export class Undecided extends Error {}

/** Takes one decision from a budget. Throws `Undecided` if none is left. */
export function spend(budget: Budget): void {
  budget.left -= 1
  if (budget.left < 0) throw new Undecided()
}
