import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { expect, test } from 'vitest'

const folder = fileURLToPath(new URL('../../dist', import.meta.url))

/** Modules of the package; other files are texts that it serves. */
const readModules = async () => {
  const files = (await readdir(folder)).filter((file) => /(?<!-text|-document)\.c?js$/.test(file))
  return Promise.all(
    files.map(async (file) =>
      ts.createSourceFile(file, await readFile(`${folder}/${file}`, 'utf8'), ts.ScriptTarget.Latest),
    ),
  )
}

// An arrow function may have been written like that.
const isMade = (called: ts.Expression): boolean =>
  ts.isParenthesizedExpression(called) ? isMade(called.expression) : ts.isFunctionExpression(called)

const isWithinFunction = (outer: readonly ts.Node[]): boolean => outer.some(ts.isFunctionLike)

/** The functions that are made in the place of their call, inside of others. */
function findMade(module: ts.SourceFile): readonly string[] {
  const found: string[] = []
  const visit = (node: ts.Node, outer: readonly ts.Node[]): void => {
    if (ts.isCallExpression(node) && isMade(node.expression) && isWithinFunction(outer))
      found.push(`${module.fileName}: ${node.getText(module).slice(0, 80)}`)
    ts.forEachChild(node, (child) => visit(child, [...outer, node]))
  }
  visit(module, [])
  return found
}

test('a minifier has moved no function into another, where each call would make it anew', async () => {
  const modules = await readModules()
  expect(modules.length).toBeGreaterThan(20)
  expect(modules.flatMap(findMade)).toEqual([])
})
