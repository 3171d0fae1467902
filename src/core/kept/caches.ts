/** The switch of a cache. */
export interface Cache {
  isOn: boolean
}

const on = (): Cache => ({ isOn: true })

/**
 * The switches of all caches of services and adapters, named by their content. No cache changes a response: tests
 * switch caches off, one by one or all of them, and compare.
 */
export const CACHES = {
  accesses: on(),
  claims: on(),
  descriptions: on(),
  documents: on(),
  indexUses: on(),
  linkedPlans: on(),
  pages: on(),
  parameters: on(),
  paths: on(),
  patterns: on(),
  plans: on(),
  prepared: on(),
  queries: on(),
  restrictions: on(),
  scans: on(),
  sessions: on(),
  statements: on(),
  taken: on(),
  texts: on(),
  views: on(),
} satisfies { readonly [name: string]: Cache }
