import teamsConfig from '../../../../examples/teams/config.json?raw'
import teamsDocuments from '../../../../examples/teams/documents.json?raw'
import blogConfig from './templates/blog/config.json?raw'
import blogDocuments from './templates/blog/documents.json?raw'
import blogTests from './templates/blog/tests.js?raw'
import notesConfig from './templates/notes/config.json?raw'
import notesDocuments from './templates/notes/documents.json?raw'
import notesTests from './templates/notes/tests.js?raw'
import teamsTests from './templates/teams/tests.js?raw'

/** A template for a new configuration. */
export interface Template {
  /** Describes the template in a few words. */
  readonly about: string
  /** The content of each file, by file name. */
  readonly files: { readonly [name: string]: string }
  /**
   * Returns shell commands that show the features of the template. `origin` is the address of a server with the
   * template's documents.
   */
  readonly tries: (origin: string) => readonly string[]
}

const JSON_BODY = "-H 'content-type: application/json'"

/** Returns a shell command that logs in and stores the token in `$TOKEN`. */
const logIn = (origin: string, email: string, password: string): string =>
  `TOKEN=$(curl -s ${origin}/auth/login ${JSON_BODY} -d '{"email":"${email}","password":"${password}"}' | sed 's/.*"token":"\\([^"]*\\)".*/\\1/')`

const SIGNED_IN = '-H "authorization: Bearer $TOKEN"'

/**
 * Returns the files of a template. The name of the test ends in `.mjs`, so that it is a module even if the folder's
 * package.json says otherwise.
 */
const filesOf = (config: string, documents: string, tests: string): Template['files'] => ({
  'config.json': config,
  'documents.json': documents,
  'config.test.mjs': tests,
})

/** All templates; the first is the default. */
export const TEMPLATES = {
  notes: {
    about: 'a notes app, in which users see only their own notes',
    files: filesOf(notesConfig, notesDocuments, notesTests),
    tries: (origin) => [
      logIn(origin, 'ann@example.com', 'correct horse'),
      `curl -sg '${origin}/notes?q[tags]=books' ${SIGNED_IN}`,
      `curl -s ${origin}/notes ${SIGNED_IN} ${JSON_BODY} -d '{"title":"My first note"}'`,
    ],
  },
  blog: {
    about: 'a blog with drafts, editors and comments',
    files: filesOf(blogConfig, blogDocuments, blogTests),
    tries: (origin) => [
      `curl -sg '${origin}/articles?sort[publishedAt]=-1&project=["title","tags"]'`,
      logIn(origin, 'author@example.com', 'correct horse'),
      `curl -s ${origin}/articles ${SIGNED_IN} ${JSON_BODY} -d '{"title":"My first draft"}'`,
    ],
  },
  teams: {
    about: 'teams with projects, tasks and comments, and invitations by e-mail address',
    files: filesOf(teamsConfig, teamsDocuments, teamsTests),
    tries: (origin) => [
      logIn(origin, 'ann@example.com', 'correct horse'),
      `curl -sg '${origin}/tasks?expand=["project"]' ${SIGNED_IN}`,
      `curl -s ${origin}/projects ${SIGNED_IN} ${JSON_BODY} -d '{"title":"My first project","team":"0190163d-8694-7000-8000-000000001001"}'`,
    ],
  },
} satisfies { readonly [name: string]: Template }

export type TemplateName = keyof typeof TEMPLATES

export const TEMPLATE_NAMES = Object.keys(TEMPLATES) as [TemplateName, ...TemplateName[]]
