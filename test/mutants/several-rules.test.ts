import { expect, test } from 'vitest'
import type * as CompilePermissions from '../../src/core/config/compile-permissions.js'
import type * as Drafts from '../../src/core/documents/write/draft.js'
import type * as CheckStage from '../../src/core/documents/write/stages/check.js'
import type * as Drop from '../../src/core/documents/write/stages/drop.js'
import type * as SetStage from '../../src/core/documents/write/stages/set.js'
import { ServiceError } from '../../src/core/errors.js'
import type * as Grants from '../../src/core/permissions/grants.js'
import type * as ReadAccess from '../../src/core/permissions/read-access.js'
import type * as Views from '../../src/core/permissions/views.js'
import type * as WriteRules from '../../src/core/permissions/write-rules.js'
import { checkRules, checkRulesCase, rulesCases } from '../support/several-rules.js'
import { choose } from './choose.js'
import { createMutant, fails, type Mutant } from './create-mutant.js'

/** Choices among several rules of one subject that are broken on purpose. */

const GRANTS = '../../src/core/permissions/grants.js'
const WRITE_RULES = '../../src/core/permissions/write-rules.js'
const VIEWS = '../../src/core/permissions/views.js'
const READ_ACCESS = '../../src/core/permissions/read-access.js'
const DRAFT = '../../src/core/documents/write/draft.js'
const DROP = '../../src/core/documents/write/stages/drop.js'
const SET = '../../src/core/documents/write/stages/set.js'
const CHECK = '../../src/core/documents/write/stages/check.js'
const COMPILE_PERMISSIONS = '../../src/core/config/compile-permissions.js'

type Rule = Grants.Rule

/** Other candidates of a write. */
const candidates =
  (change: (rules: readonly Rule[], mentions: Grants.Mentions) => readonly Rule[]) =>
  async (original: () => Promise<unknown>): Promise<object> => {
    const real = (await original()) as typeof WriteRules
    return {
      ...real,
      selectWriteRules: (...args: Parameters<typeof real.selectWriteRules>) =>
        change(real.selectWriteRules(...args), args[0]),
    }
  }

const indexOf = ({ place }: Rule): number => Number(place.split('/')[2] ?? 0)

/** Drafts whose validation ends in another way. */
const rejecting =
  (reject: (draft: Drafts.Draft, verdict: Drafts.Verdict | undefined) => Drafts.Verdict | undefined) =>
  async (original: () => Promise<unknown>): Promise<object> => {
    const real = (await original()) as typeof Drafts
    return {
      ...real,
      Draft: class extends real.Draft {
        override rejectFaulty() {
          return reject(this, super.rejectFaulty()) as ReturnType<Drafts.Draft['rejectFaulty']>
        }
      },
    }
  }

const MUTANTS: readonly Mutant[] = [
  [
    'only the first rule of an array counts',
    GRANTS,
    async (original) => {
      const real = (await original()) as typeof Grants
      const isFirst = (rule: Rule): boolean => indexOf(rule) === 0
      return {
        ...real,
        rulesOf: (...args: Parameters<typeof real.rulesOf>) => real.rulesOf(...args).filter(isFirst),
        listRules: (mentions: Grants.Mentions) => real.listRules(mentions).filter(isFirst),
      }
    },
  ],
  [
    'the rules of an array are tried from its end',
    WRITE_RULES,
    candidates((rules) =>
      [...new Set(rules.map(({ subject }) => subject))].flatMap((one) =>
        rules.filter(({ subject }) => subject === one).reverse(),
      ),
    ),
  ],
  [
    'the first rules of all roles come before the second ones',
    WRITE_RULES,
    candidates((rules) => [...rules].sort((a, b) => indexOf(a) - indexOf(b))),
  ],
  [
    'the rules of owner come first',
    WRITE_RULES,
    candidates((rules) =>
      [...rules].sort((a, b) => Number(b.subject === 'owner') - Number(a.subject === 'owner')),
    ),
  ],
  [
    'an array of which no rule applies leaves the operation to everyone',
    WRITE_RULES,
    candidates((rules, mentions) => [...rules, ...(mentions.get('*') ?? [])]),
  ],
  [
    'the 65th rule is tried',
    WRITE_RULES,
    candidates((rules, mentions) => (rules.length === 64 ? [...mentions.values()].flat() : rules)),
  ],
  [
    'a document shows the fields of a rule that matches other documents',
    VIEWS,
    async (original) => {
      const real = (await original()) as typeof Views
      return {
        ...real,
        createViews: (...[collection, rules, keep]: Parameters<typeof real.createViews>) => {
          const find = real.createViews(collection, rules, keep)
          return (matching: readonly Rule[]) =>
            find(rules.filter(({ subject }) => matching.some((one) => one.subject === subject)))
        },
      }
    },
  ],
  [
    'the first rule of an array decides which documents are there',
    READ_ACCESS,
    async (original) => {
      const real = (await original()) as typeof ReadAccess
      return {
        ...real,
        compileAccess: (...[collection, parts]: Parameters<typeof real.compileAccess>) => {
          const { rules } = parts
          const first = (subject: string) => rules.find(({ rule }) => rule.subject === subject)
          const same = rules.map((one) => ({ ...one, where: first(one.rule.subject)?.where ?? one.where }))
          return real.compileAccess(collection, { ...parts, rules: same })
        },
      }
    },
  ],
  [
    'the first one tried is passed over where it has faults',
    DRAFT,
    rejecting(({ write }, verdict) =>
      verdict?.kind === 'invalid' && write.rules.length > 1 ? { kind: 'refused' } : verdict,
    ),
  ],
  [
    'the faults of a later one are the answer',
    DRAFT,
    rejecting((_, verdict) => {
      if (verdict?.kind === 'invalid') throw new ServiceError('validation_failed', 'later')
      return verdict
    }),
  ],
  [
    'one that keeps nothing runs after a refusal',
    DRAFT,
    async (original) => {
      const real = (await original()) as typeof Drafts
      class Forgetful extends real.Draft {
        constructor(...args: ConstructorParameters<typeof real.Draft>) {
          super(...args)
          Object.defineProperty(this, 'followsRefusal', { get: () => false, set: () => {} })
        }
      }
      return { ...real, Draft: Forgetful }
    },
  ],
  [
    'one that drops something is tried in its place',
    DROP,
    async (original) => {
      const real = (await original()) as typeof Drop
      return {
        ...real,
        keepAccepted: (...args: Parameters<typeof real.keepAccepted>) => ({
          ...real.keepAccepted(...args),
          isWhole: true,
        }),
      }
    },
  ],
  [
    'an array of one is no rule',
    COMPILE_PERMISSIONS,
    async (original) => {
      const real = (await original()) as typeof CompilePermissions
      const isAlone = ([one, ...more]: readonly Rule[]): boolean =>
        more.length === 0 && /\/0$/.test(one?.place ?? '')
      const withoutAlone = (mentions: Grants.Mentions) =>
        new Map([...mentions].map(([subject, rules]) => [subject, isAlone(rules) ? [] : rules]))
      return {
        ...real,
        compilePermissions: (...args: Parameters<typeof real.compilePermissions>) => {
          const { create, read, update, delete: remove } = real.compilePermissions(...args)
          return {
            create: withoutAlone(create),
            read: withoutAlone(read),
            update: withoutAlone(update),
            delete: withoutAlone(remove),
          }
        },
      }
    },
  ],
  [
    'a refused set is no refusal',
    SET,
    async (original) => {
      const real = (await original()) as typeof SetStage
      const judge: NonNullable<Drafts.Stage['judge']> = async (draft) => {
        const verdict = await real.set.judge?.(draft)
        return verdict?.kind === 'refused' ? { kind: 'idle' } : verdict
      }
      return { ...real, set: { ...real.set, judge } }
    },
  ],
  [
    'a refused check is no refusal',
    CHECK,
    async (original) => {
      const real = (await original()) as typeof CheckStage
      const judge: NonNullable<Drafts.Stage['judge']> = async (draft) => {
        const verdict = await real.check.judge?.(draft)
        return verdict?.kind === 'refused' ? { kind: 'idle' } : verdict
      }
      return { ...real, check: { ...real.check, judge } }
    },
  ],
  [
    'check is the where of the first rule',
    COMPILE_PERMISSIONS,
    async (original) => {
      const real = (await original()) as typeof CompilePermissions
      return {
        ...real,
        compilePermissions: (...args: Parameters<typeof real.compilePermissions>) => {
          const table = real.compilePermissions(...args)
          const update = Array.from(table.update, ([subject, rules]) => {
            const check = (rule: Rule) =>
              (rule.check === rule.where ? rules[0]?.where : undefined) ?? rule.check
            return [subject, rules.map((rule) => ({ ...rule, check: check(rule) }))] as const
          })
          return { ...table, update: new Map(update) }
        },
      }
    },
  ],
]

const CONFIGS = 40

test.each(choose(MUTANTS))('is noticed: %s', async (...mutant) => {
  const create = await createMutant(mutant)
  const notice = async (): Promise<void> => {
    for (const one of rulesCases) await checkRulesCase(one, create)
    await checkRules(CONFIGS, create)
  }
  expect(await fails(notice())).toBe(true)
})

test('each is noticed by the literal reading of §5 alone', async () => {
  const missed: string[] = []
  for (const mutant of choose(MUTANTS)) {
    const create = await createMutant(mutant)
    if (!(await fails(checkRules(CONFIGS, create)))) missed.push(mutant[0])
  }
  expect(missed).toEqual([])
})
