import type { TemplateName } from '../commands/templates.js'
import type { Word } from './options.js'

/** The words that a command line can begin with; serving needs none. */
export type NamedWord = Exclude<Word, 'serve'>

/** A storage that outlasts the process. */
export type StorageArguments =
  | { readonly kind: 'file'; readonly file: string }
  | { readonly kind: 'database'; readonly url: string; readonly schema?: string }

/** What to serve, and where. */
export interface ServeArguments {
  readonly config: string
  readonly port: number
  readonly host: string
  readonly watch: boolean
  readonly cors: readonly string[]
  readonly seed: string | undefined
  /** A module, or `console`. Default: nothing is delivered. */
  readonly deliver?: string
  /** Default: in memory. */
  readonly storage?: StorageArguments
}

/** The user, what it gets, and the storage of a grant. */
export interface GrantArguments {
  readonly config: string
  readonly identifier: string
  /** Default: none, where the user is verified. */
  readonly role: string | undefined
  readonly isVerified: boolean
  readonly storage: StorageArguments
}

/** The configuration whose types to print, and where to write them. */
export interface TypesArguments {
  readonly config: string
  /** Default: the terminal. */
  readonly out: string | undefined
}

/** The template to write, and its folder. */
export interface InitArguments {
  readonly template: TemplateName
  readonly folder: string
}

/** The json-server file to read, and the folder for what is made of it. */
export interface ImportArguments {
  readonly file: string
  readonly folder: string
}

/** A parsed command line. */
export type Arguments =
  | ({ readonly word: 'serve' } & ServeArguments)
  | ({ readonly word: 'grant' } & GrantArguments)
  | ({ readonly word: 'types' } & TypesArguments)
  | ({ readonly word: 'init' } & InitArguments)
  | ({ readonly word: 'import' } & ImportArguments)
  | { readonly word: 'help'; readonly of: NamedWord | undefined }
  | { readonly word: 'version' }
