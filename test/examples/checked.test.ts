import { readdir, readFile } from 'node:fs/promises'
import ts from 'typescript'
import { describe, expect, test } from 'vitest'
import { checkConfig, type InsightOptions } from '../../src/tools/insight/index.js'

// CONTRACT.md §8, "Check"

const root = new URL('../../', import.meta.url)
const readText = (path: string): Promise<string> => readFile(new URL(path, root), 'utf8')

const WITHIN = ['examples/', 'src/tools/cli/commands/templates/']
const GUIDE = (await readdir(new URL('docs/', root)))
  .filter((name) => name.endsWith('.md'))
  .map((name) => `docs/${name}`)
const paths = (
  await Promise.all(
    WITHIN.map(async (folder) =>
      (await readdir(new URL(folder, root), { recursive: true })).map((path) => folder + path),
    ),
  )
).flat()

/** Examples let strangers write, so that they need no accounts. `check --production` says that they do. */
const OPEN: readonly string[] = ['anonymous_create', 'anonymous_change']

const find = (
  config: unknown,
  { authenticate = false, hooks = {} }: InsightOptions = {},
): readonly string[] =>
  [false, true].flatMap((production) =>
    checkConfig(config, { authenticate, production, hooks })
      .filter(({ code }) => !OPEN.includes(code))
      .map(({ level, code, pointer, message }) => `${level} ${code} ${pointer} ${message}`),
  )

describe('check is silent on', () => {
  const files = paths.filter((path) => path.endsWith('config.json'))
  test('several files', () => expect(files.length).toBeGreaterThan(4))
  test.each(files)('%s', async (path) => expect(find(await readText(path))).toEqual([]))
})

/** Whether a node is `{ collections: { … } }` without functions, which the code of a migration has. */
const isConfig = (node: ts.Node): node is ts.ObjectLiteralExpression =>
  ts.isObjectLiteralExpression(node) &&
  node.properties.some(
    (one) =>
      ts.isPropertyAssignment(one) &&
      one.name.getText() === 'collections' &&
      ts.isObjectLiteralExpression(one.initializer) &&
      !one.initializer.properties.some(
        (member) =>
          ts.isMethodDeclaration(member) ||
          (ts.isPropertyAssignment(member) && ts.isArrowFunction(member.initializer)),
      ),
  )

/** The configurations that a program holds, with the objects that it names. */
function readConfigs(text: string): readonly unknown[] {
  const source = ts.createSourceFile('example.ts', text, ts.ScriptTarget.ES2022, true)
  const found: string[] = []
  const named: string[] = []
  const visit = (node: ts.Node): void => {
    if (isConfig(node)) found.push(node.getText())
    else ts.forEachChild(node, visit)
  }
  visit(source)
  for (const statement of source.statements) {
    if (!ts.isVariableStatement(statement)) continue
    const isObject = statement.declarationList.declarations.every(({ initializer }) => {
      const inner = initializer && ts.isAsExpression(initializer) ? initializer.expression : initializer
      return inner !== undefined && ts.isObjectLiteralExpression(inner) && !isConfig(inner)
    })
    if (isObject) named.push(statement.getText())
  }
  // What is made of an imported configuration is checked with it.
  const whole = found.filter((config) => !config.includes('...'))
  return whole.map((config) => {
    const program = ts.transpile(`${named.join('\n')}\nreturn (${config})`, {
      target: ts.ScriptTarget.ES2022,
    })
    return new Function(program)()
  })
}

/** The hooks of a program that fill fields, by collection. */
function readHooks(text: string): NonNullable<InsightOptions['hooks']> {
  const found: [string, { fills: string[]; before(): void }][] = []
  const visit = (node: ts.Node): void => {
    const hook = node.parent?.parent
    if (ts.isPropertyAssignment(node) && node.name.getText() === 'fills' && ts.isPropertyAssignment(hook))
      found.push([
        hook.name.getText(),
        { fills: JSON.parse(node.initializer.getText().replaceAll("'", '"')), before() {} },
      ])
    ts.forEachChild(node, visit)
  }
  visit(ts.createSourceFile('example.ts', text, ts.ScriptTarget.ES2022, true))
  return Object.fromEntries(found)
}

describe('check is silent on what', () => {
  const HOSTED = /\bauthenticate\b/
  const programs = paths.filter((path) => /\.(?:ts|tsx|cjs)$/.test(path))
  test.each([...programs, ...GUIDE, 'README.md'])('%s configures', async (path) => {
    const text = await readText(path)
    const blocks = path.endsWith('.md')
      ? [...text.matchAll(/^```(?:js|ts)(?: [^\n]*)?\n(.*?)^```$/gms)].map(([, block = '']) => block)
      : [text]
    for (const block of blocks)
      for (const config of readConfigs(block))
        expect(find(config, { authenticate: HOSTED.test(block), hooks: readHooks(block) })).toEqual([])
  })

  test('in the README is found', async () => {
    const blocks = [...(await readText('README.md')).matchAll(/^```ts [^\n]*\n(.*?)^```$/gms)]
    expect(blocks.flatMap(([, block = '']) => readConfigs(block))).toHaveLength(1)
  })
})
