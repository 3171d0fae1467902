import { extname } from 'node:path'

const JSON_ENDING = '.json'

const MODULES: readonly string[] = ['.ts', '.mts', '.cts', '.js', '.mjs', '.cjs']

/** The endings of the names of configurations. */
export const ENDINGS: readonly string[] = [JSON_ENDING, ...MODULES]

/** Whether the name of a configuration is that of a module. All other configurations are JSON. */
export const isModule = (path: string): boolean => MODULES.includes(extname(path))

/** Whether a name ends like that of a configuration. */
export const isConfigName = (path: string): boolean => ENDINGS.includes(extname(path))
