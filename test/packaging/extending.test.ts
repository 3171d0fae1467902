import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { beforeAll, expect, test } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))
const source = `${root}src/`

/** What is added to the sources: a member of a type, and nothing else. */
interface Addition {
  readonly file: string
  /** What it is put behind. */
  readonly head: string
  readonly member: string
  /** Stands in `member`, and nowhere else. */
  readonly name: string
}

const ADDITIONS = {
  'a field type': {
    file: 'core/field-definition.ts',
    head: 'export type FieldDefinition =\n',
    member: "| (ScalarAttributes & { readonly type: 'added_type'; readonly default?: string })",
    name: 'added_type',
  },
  'an attribute of a field type': {
    file: 'core/field-definition.ts',
    head: "readonly type: 'timestamp'\n",
    member: 'readonly added_attribute?: boolean\n',
    name: 'added_attribute',
  },
  'an operator': {
    file: 'core/types.ts',
    head: 'export type OperatorName =\n',
    member: "| '$added_operator'",
    name: '$added_operator',
  },
  'a type of values': {
    file: 'core/filter/filter.ts',
    head: 'export type ComparableType =',
    member: "'added_value' |",
    name: 'added_value',
  },
  'a comparison': {
    file: 'core/filter/filter.ts',
    head: 'export type ComparisonKind =',
    member: "'added_comparison' |",
    name: 'added_comparison',
  },
  'a node of filters': {
    file: 'core/filter/filter.ts',
    head: 'export type Filter =\n',
    member: "| { readonly kind: 'added_node'; readonly field: FieldRef; readonly value: Scalar }",
    name: 'added_node',
  },
} as const satisfies { readonly [what: string]: Addition }

type What = keyof typeof ADDITIONS

function extend(path: string, text: string): string {
  let extended = text
  for (const { file, head, member } of Object.values(ADDITIONS)) {
    if (path !== source + file) continue
    expect(extended).toContain(head)
    extended = extended.replace(head, `${head} ${member} `)
  }
  return extended
}

/** What the compiler says of the sources with all additions, by file. */
function compile(): ReadonlyMap<string, string> {
  const { config } = ts.readConfigFile(`${root}tsconfig.json`, ts.sys.readFile)
  const { options, fileNames } = ts.parseJsonConfigFileContent(
    { ...config, include: ['src'], exclude: [] },
    ts.sys,
    root,
  )
  // Else the compiler would leave names out of its messages.
  const shown: ts.CompilerOptions = { ...options, noErrorTruncation: true }
  const host = ts.createCompilerHost(shown)
  const { readFile } = host
  host.readFile = (path) => {
    const text = readFile(path)
    return text === undefined ? undefined : extend(path, text)
  }
  const program = ts.createProgram(fileNames, shown, host)
  const said = new Map<string, string>()
  for (const { file, messageText } of program.getSemanticDiagnostics()) {
    const path = file?.fileName.slice(source.length) ?? ''
    said.set(path, `${said.get(path) ?? ''}\n${ts.flattenDiagnosticMessageText(messageText, '\n')}`)
  }
  return said
}

let said: ReadonlyMap<string, string>
beforeAll(() => {
  said = compile()
})

/** The files that the compiler leads to: what an addition is made of. */
const LED_TO: { readonly [what in What]: readonly string[] } = {
  'a field type': [
    'core/fields/field-types.ts',
    'core/stored/record/describe-names.ts',
    'infer/collections.ts',
  ],
  'an attribute of a field type': ['core/fields/types/timestamp.ts'],
  'an operator': [
    'client/query-types.ts',
    'core/query/condition.ts',
    'tools/insight/text/signs.ts',
    'tools/openapi/parameters.ts',
  ],
  'a type of values': [
    'adapters/postgres/values.ts',
    'adapters/sqlite/sqlite-dialect.ts',
    'adapters/sqlite/values.ts',
    'core/filter/compare.ts',
    'tools/insight/diff/model/group-values.ts',
    'tools/insight/diff/model/universe.ts',
    'tools/insight/matrix/permission-matrix.ts',
    'tools/openapi/parameters.ts',
    'tools/openapi/schemas/value-schema.ts',
    'tools/testing/adapter/check/edge-values.ts',
  ],
  'a comparison': [
    'adapters/sql/compile-condition.ts',
    'core/filter/constraint.ts',
    'core/filter/matches.ts',
    'tools/testing/adapter/cases/filter-cases.ts',
  ],
  'a node of filters': [
    'adapters/sql/compile-condition.ts',
    'adapters/sqlite/read/path-finder.ts',
    'adapters/sqlite/read/read-statements.ts',
    'core/filter/constraint.ts',
    'core/filter/filter.ts',
    'core/filter/matches.ts',
    'tools/insight/diff/model/conditions.ts',
    'tools/testing/adapter/check/print-query.ts',
  ],
}

test.each(Object.keys(LED_TO) as What[])('%s does not compile until all of it is there', (what) => {
  const { name } = ADDITIONS[what]
  const files = [...said].filter(([, text]) => text.includes(name)).map(([path]) => path)
  expect(files.sort()).toEqual(LED_TO[what])
})

test('the compiler complains of nothing else', () => {
  const names = Object.values(ADDITIONS).map(({ name }) => name)
  expect([...said].filter(([, text]) => !names.some((name) => text.includes(name)))).toEqual([])
})
