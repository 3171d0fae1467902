import { compileConfig } from '../../../../../src/core/config/compile-config.js'
import { findWarnings } from '../../../../../src/core/config/find-warnings.js'
import { ConfigError, type ConfigFault } from '../../../../../src/index.js'

/** Configurations that the tests of faults have in common. */

export const field = (definition: unknown) => ({ collections: { notes: { schema: { field: definition } } } })
export const schema = (fields: unknown) => ({ collections: { notes: { schema: fields } } })

export const notes = (settings: object) => ({
  collections: {
    notes: {
      schema: { text: { type: 'string' }, tags: { type: 'array', items: { type: 'string' } } },
      ...settings,
    },
  },
})

export const permissions = (grants: unknown) => notes({ permissions: grants })
export const limits = (values: unknown) => ({ collections: {}, limits: values })

export const auth = (values: unknown) => ({
  collections: {
    users: {
      schema: {
        email: { type: 'string', unique: true },
        password: { type: 'hash' },
        role: { type: 'string' },
        age: { type: 'integer' },
      },
    },
  },
  auth: values,
})

/** The faults of a configuration; anything but a `ConfigError` is thrown on. */
export function faultsOf(config: unknown, production = false): readonly ConfigFault[] {
  try {
    compileConfig(config, { production, hasAuthenticate: false })
    return []
  } catch (thrown) {
    if (thrown instanceof ConfigError) return thrown.faults
    throw thrown
  }
}

/** Compiles a valid configuration, and returns the findings of the start. */
export function warningsOf(config: unknown, production = false) {
  const facts = { production, hasAuthenticate: false }
  return findWarnings({ ...facts, plan: compileConfig(config, facts) })
}

export const pathsOf = (config: unknown): readonly string[] => faultsOf(config).map(({ path }) => path)

export const users = (fields: object, settings: object = {}) => ({
  collections: { users: { schema: fields } },
  ...settings,
})

export const where = (filter: object) => ({
  collections: {
    notes: {
      schema: {
        text: { type: 'string' },
        views: { type: 'integer' },
        secret: { type: 'hash' },
        tags: { type: 'array', items: { type: 'string' } },
        place: { type: 'object', properties: { city: { type: 'string' } } },
      },
      permissions: { user: { read: { where: filter } } },
    },
    users: { schema: {} },
  },
})
