import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { compileConfig } from '../../../core/config/compile-config.js'
import { expandGrant } from '../../../core/config/compile-permissions.js'
import { judgeHooks } from '../../../core/config/options/check-options.js'
import { type Fills, readFills } from '../../../core/config/options/fills.js'
import { settleShape } from '../../../core/config/shape/settle-shape.js'
import type { Definitions, Purpose, TypePrinter } from '../../../core/fields/field-type.js'
import { fieldTypeOf } from '../../../core/fields/field-types.js'
import type { AuthConfig, CollectionConfig, Config, FieldDefinition } from '../../../core/types.js'
import type { ArgumentsOf } from '../arguments/commands.js'
import { readConfig } from '../read-config.js'
import { FileError } from '../read-json-file.js'

/** A property of a type to print. */
interface Property {
  readonly name: string
  readonly isOptional: boolean
  readonly type: string
  readonly description?: string | undefined
}

/**
 * Prints the types of a configuration's documents, or writes them to the file `out`. Throws `FileError` and
 * `ConfigError`.
 */
export async function writeTypes(
  { config, out, hooks }: ArgumentsOf<'types'>,
  print: (line: string) => void,
): Promise<void> {
  const written = await readConfig(config)
  if (out !== undefined && resolve(out) === resolve(config))
    throw new FileError(`${out} is the configuration: choose another file for the types`)
  // The types do not depend on how callers are authenticated, so `hasAuthenticate` is true: a configuration whose host
  // has its own accounts is then valid too.
  const fills = readFills(hooks)
  const faults = judgeHooks({ hooks }, written)
  compileConfig(written, { production: false, hasAuthenticate: true, fills, faults })
  const text = printTypes(written as Config, fills)
  if (out === undefined) return print(text.trimEnd())
  await writeFile(out, text).catch((cause: NodeJS.ErrnoException) => {
    throw new FileError(`${out} cannot be written: ${cause.code}`)
  })
}

/**
 * Returns a TypeScript module without imports that contains the types of a valid configuration: interfaces for each
 * collection, and `Collections`, which maps the names of the collections to their types, for
 * `createClient<Collections>(url)`.
 */
export function printTypes(config: Config, fills: Fills = new Map()): string {
  const settled = settleShape(config)
  const collections = Object.entries(settled.collections ?? {})
  const names = nameInterfaces(collections.map(([name]) => name))
  const account = settled.collections?.users ? describeAccount(settled.collections.users, settled.auth) : []
  const hasSecret = Object.values(settled.collections?.users?.schema ?? {}).some(
    (definition) => (definition as FieldDefinition).type === 'hash',
  )
  const parts = collections.map(([name, collection]) => ({
    name,
    ...printCollection(name, collection, {
      typeName: names.get(name) ?? name,
      fills: fills.get(name) ?? [],
      account: name === 'users' ? account : [],
      verifiedField: name === 'users' ? settled.auth?.verifiedField : undefined,
      isSigned: account.length > 0 && hasSecret,
    }),
  }))
  const map = parts.map(({ name, types }) => ({ name: printName(name), isOptional: false, type: types }))
  return [
    '// Generated from a configuration by `collection-service types`. Do not edit: generate it again.',
    ...parts.map(({ interfaces }) => interfaces),
    `/** All collections, for \`createClient<Collections>(url)\`. */\nexport type Collections = ${printObject(map, '')}\n`,
  ].join('\n\n')
}

/** A collection to print: the beginning of the names of its interfaces, and facts that its schema does not contain. */
interface Printed {
  readonly typeName: string
  /** Fields that a hook fills, so that the body of a create need not contain them. */
  readonly fills: readonly string[]
  readonly account: readonly Property[]
  /** The field that says whether an account is verified; only the service writes it. */
  readonly verifiedField: string | null | undefined
  /** Whether `createdBy` is a reference to the accounts. */
  readonly isSigned: boolean
}

function printCollection(
  name: string,
  collection: CollectionConfig,
  { typeName, fills, account, verifiedField, isSigned }: Printed,
) {
  const { schema } = collection
  const given = new Set([...namesGivenBySet(collection), ...fills])
  const written = Object.fromEntries(Object.entries(schema).filter(([field]) => field !== verifiedField))
  const rest = collection.additionalProperties ? '  readonly [name: string]: unknown\n' : ''
  const declare = (suffix: string, about: string, properties: readonly Property[]): string =>
    `/** ${about} */\nexport interface ${typeName}${suffix} ${printObject(properties, '', rest)}`
  const interfaces = [
    declare('Document', `A document of \`${name}\`. Fields that the caller may not read are missing.`, [
      { name: '_id', isOptional: false, type: 'string' },
      ...describeFields(schema, 'document', '  '),
      { name: 'createdAt', isOptional: false, type: 'string' },
      { name: 'updatedAt', isOptional: false, type: 'string' },
      { name: 'createdBy', isOptional: false, type: 'string | null' },
    ]),
    declare(
      'CreateBody',
      `The body of a new document of \`${name}\`.`,
      describeFields(written, 'create', '  ', given),
    ),
    declare(
      'UpdateBody',
      `A merge patch for a document of \`${name}\`. \`null\` removes a field.`,
      describeFields(written, 'update', '  '),
    ),
  ].join('\n\n')
  const found = [...findReferences(schema), ...(isSigned ? [['createdBy', 'users'] as const] : [])]
  const references = found.map(([path, target]) => ({
    name: printName(path),
    isOptional: false,
    type: printText(target),
  }))
  const types = printObject(
    [
      { name: 'document', isOptional: false, type: `${typeName}Document` },
      { name: 'create', isOptional: false, type: `${typeName}CreateBody` },
      { name: 'update', isOptional: false, type: `${typeName}UpdateBody` },
      { name: 'references', isOptional: false, type: printObject(references, '    ') },
      ...account,
    ],
    '  ',
  )
  return { interfaces, types }
}

/**
 * Returns the property `account` of `users`, with the names of its identifier and secret fields; nothing if `users` has
 * no identifier.
 */
function describeAccount(
  { schema }: CollectionConfig,
  { identifier, secret, requireVerified = false }: AuthConfig = {},
): readonly Property[] {
  const find = (named: string | null | undefined, fits: (definition: FieldDefinition) => unknown) => {
    const all = Object.entries<FieldDefinition>(schema).filter(([, definition]) => fits(definition))
    return named === undefined || named === null ? all.map(([name]) => name) : [named]
  }
  const identifiers = find(identifier, (one) => one.type === 'string' && one.unique)
  const secrets = find(secret, ({ type }) => type === 'hash')
  if (identifiers.length === 0) return []
  const print = (names: readonly string[]): string => names.map(printText).join(' | ')
  const properties = [
    { name: 'identifier', isOptional: false, type: print(identifiers) },
    ...(secrets.length > 0 ? [{ name: 'secret', isOptional: false, type: print(secrets) }] : []),
    { name: 'requireVerified', isOptional: false, type: String(requireVerified) },
  ]
  return [{ name: 'account', isOptional: false, type: printObject(properties, '    ') }]
}

/**
 * Returns the beginning of the interface names of each collection, with a number if another collection has the same
 * one.
 */
function nameInterfaces(collections: readonly string[]): ReadonlyMap<string, string> {
  const taken = new Set<string>()
  return new Map(
    collections.map((name) => {
      const plain = name.replaceAll(/(?:^|[^A-Za-z0-9]+)(.?)/g, (_, first: string) => first.toUpperCase())
      let unique = plain
      for (let number = 2; taken.has(unique); number++) unique = `${plain}_${number}`
      taken.add(unique)
      return [name, unique]
    }),
  )
}

/** Returns the fields that the `set` of a rule fills on create, so that a body need not contain them. */
function namesGivenBySet({ permissions = {} }: CollectionConfig): ReadonlySet<string> {
  const rules = Object.values(permissions).flatMap(expandGrant)
  const creating = rules.filter(({ operation }) => operation === 'create')
  return new Set(creating.flatMap(({ rule }) => Object.keys(rule?.set ?? {})))
}

const isRequired = ({ required }: FieldDefinition): boolean => required === true
const hasDefault = (definition: FieldDefinition): boolean => 'default' in definition

function describeFields(
  fields: Definitions,
  purpose: Purpose,
  indent: string,
  given: ReadonlySet<string> = new Set(),
): readonly Property[] {
  return Object.entries(fields).flatMap(([name, definition]): readonly Property[] => {
    const { description } = definition
    const type = printType(definition, purpose, indent)
    switch (purpose) {
      case 'document': {
        const isThere = isRequired(definition) || hasDefault(definition)
        const isSecret = fieldTypeOf(definition.type).valueType === null
        return isSecret ? [] : [{ name, isOptional: !isThere, type, description }]
      }
      case 'create': {
        const mustBeGiven = isRequired(definition) && !hasDefault(definition) && !given.has(name)
        const orNull = definition.nullable ? addNull(type) : type
        return [{ name, isOptional: !mustBeGiven, type: orNull, description }]
      }
      case 'update':
        return [{ name, isOptional: true, type: isRequired(definition) ? type : addNull(type), description }]
      default:
        return purpose satisfies never
    }
  })
}

const addNull = (type: string): string => (type === 'unknown' ? type : `${type} | null`)

function printType(definition: FieldDefinition, purpose: Purpose, indent: string): string {
  const printer: TypePrinter = {
    purpose,
    print: (inner, its) => printType(inner, its, indent),
    printProperties: (inner) => printObject(describeFields(inner, purpose, `${indent}  `), indent),
    printChoice: (values) => values.map(printLiteral).join(' | '),
  }
  return fieldTypeOf(definition.type).print(definition, printer)
}

function printObject(properties: readonly Property[], indent: string, rest = ''): string {
  if (properties.length === 0 && rest === '') return '{}'
  const lines = properties.map(({ name, isOptional, type, description }) => {
    // A `*/` in a description would end the comment.
    const about = description?.replaceAll('*/', '*\\/').replaceAll(/\s+/g, ' ').trim()
    const comment = about ? `${indent}  /** ${about} */\n` : ''
    return `${comment}${indent}  readonly ${name}${isOptional ? '?' : ''}: ${type}\n`
  })
  return `{\n${lines.join('')}${rest}${indent}}`
}

/** Returns the path of each reference, and of each array of references, with the collection that it refers to. */
function findReferences(fields: Definitions, prefix = ''): readonly (readonly [string, string])[] {
  return Object.entries(fields).flatMap(([name, definition]): readonly (readonly [string, string])[] => {
    const { items = definition, properties = {} } = fieldTypeOf(definition.type).inside?.(definition) ?? {}
    if (items.type === 'reference') return [[`${prefix}${name}`, items.collection]]
    return findReferences(properties, `${prefix}${name}.`)
  })
}

const printLiteral = (value: string | number): string =>
  typeof value === 'string' ? printText(value) : JSON.stringify(value)

const printName = (name: string): string => (/^[A-Za-z]\w*$/.test(name) ? name : printText(name))

/** Returns a string literal in single quotes, with the escapes of JSON. */
const printText = (text: string): string => {
  const inner = JSON.stringify(text).slice(1, -1)
  return `'${inner.replaceAll(/\\.|'/g, (part) => (part === '\\"' ? '"' : part === "'" ? "\\'" : part))}'`
}
