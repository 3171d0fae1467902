import type { Filter } from '../../../../core/filter/filter.js'
import type { AdapterCase } from '../adapter-case.js'
import { documentOf, fieldOf, insertAll, notOf, planOf, queryOf } from '../check/documents.js'
import { anyValues, scalars } from '../check/edge-values.js'
import { parsePattern } from '../check/parse-pattern.js'
import { checkList } from '../check/plain-array.js'
import { withAdapter } from '../check/with-adapter.js'

const TEXTS: readonly unknown[] = [
  ...anyValues,
  ...[
    'foo bar',
    'foo\nbar',
    'foo\r\nbar',
    'foo_bar',
    'foo-bar',
    'foobar',
    'bar foo',
    'FOO',
    'foo\n',
    '\nfoo',
  ],
  ...[
    'stra\u00dfe',
    'STRASSE',
    'stra\u1e9ee',
    'na\u00efve',
    'NA\u00cfVE',
    '\u00c4rger',
    '\u00e9a',
    'a\u00e9',
    '\u65e5\u672c',
  ],
  ...['x'.repeat(20), 'x'.repeat(299), 'x'.repeat(301), 'aab', 'abab', 'ababab', 'aaaa', 'abcabc', 'xyyyz'],
  ...[
    'a.b',
    'a*b',
    '(a)',
    '[a]',
    'a{2}',
    '^a$',
    'a|b',
    'a-b',
    'a]b',
    'a/b',
    '\u{1f600}\u{1f601}',
    '1a2b',
    'a b',
    'a\u{1f600}a',
  ],
]

const documents = TEXTS.map((text, i) =>
  documentOf(`t${i}`, { s: text, n: { s: text }, l: [null, text, 'zz'] }),
)

const FIELDS = [fieldOf('s', 'string'), fieldOf('n.s', 'string'), fieldOf('l', 'string', true)]

/** Patterns, grouped by theme. Each is tested with and without `ignoreCase`, and negated. */
// biome-ignore format: a table
const PATTERNS: { readonly [theme: string]: readonly string[] } = {
  'literal text': [
    '', 'a', 'foo', '%', '_', 'a_b', 'o%', '\\\\', '\\\\%', "'", '"', '\\.', 'a\\.b', '\\*', '\\?', '\\$1', '\\^a\\$',
    '\\{\\}', '\\[\\]', '\\-', '\\/', 'foo bar', '\u00e9', 'e\u0301', '\u{1f600}', '\uffff', '\u0001',
  ],
  'any character': ['.', '^.$', '^..$', '^.*$', 'foo.bar', 'a.b', '.+\\n', '^.{0,3}$', '(.|\\n)'],
  classes: [
    '[a-c]', '[^a-c]', '^[^a]$', '[%_]', '[\\]]', '[\\\\]', '[\\^]', '[a\\-]', '[\u00df-\u00e9]',
    '[\u{1f600}-\u{1f610}]', '^[^\\n]*$', '[^\\s\\S]', '[\\s\\S]', '^[\\d\\D]$', '[A-z]', '^[\ue000-\u{10000}]$', '[\'"]',
  ],
  'sets of ASCII': [
    '\\d', '\\D', '^\\D+$', '\\w', '\\W', '^\\W+$', '\\s', '\\S', '^\\S+$', '[\\d_]', '[^\\w]', '\\d\\w\\d', '\\t',
    '\\n', '\\r',
  ],
  'word boundaries': [
    '\\b', '\\B', '\\bfoo\\b', '\\Bbar', '\\ba', 'a\\b', '\\b\\d', '\u00e9\\b', '\\b\u00e9', 'a\\B', '^\\b', '\\b$',
    '^\\B$', '(\\b|x)a', '(?:\\b)a',
    'a\\B.', '\u{1f600}\\B', '\\B\u{1f601}',
  ],
  'ends of the text': [
    '^', '$', '^$', '^a', 'a$', '^a$', '^foo$', 'foo$', '^foo', '\\n$', '^\\n', 'a$\\n', '\\n^b', '(^a|b$)', '(^|x)a',
    'b($|x)', '^(a|ab)$', 'x^', '$x',
  ],
  choices: [
    'a|b', '^(a|A)$', '^(?:foo|bar)', '|a', 'a|', '(|x)y', '(a|ab)(c|bc)', 'foo|%|_', '^(a|b|c|d)+$', '(foo|foobar)$',
    '(a(b(c)?)?)?$',
  ],
  repeats: [
    'a*', 'a+', 'a?', '^a?$', 'a{2}', '^a{2,}b', '^a{0}$', '^x{20}$', '^x{0,300}$', '^x{299}$', '^(xx){10}$', '(ab)+',
    '^(ab){2,3}$', '^(a?b?){2}$', '^((a{1,2}){1,2})$', '(a*)*b', '(a|a)*$', 'y{2,3}?z', 'a+?b', 'x*?', 'a??b',
    '^(a{0,2}b){2}$', '(?:){3}', '^(?:a|){2}$',
  ],
  'letter case': [
    'i', '\u0130', '\u0131', 's', '\u017f', 'ss', '\u00df', '\u1e9e', 'k', '\u212a', '\u03c3', '\u03c2', '\u03a3',
    '\u01c5', '\u00c9', 'STRASSE', 'stra\u00dfe', 'na\u00efve', '[i-k]', '[^k]', '^[^s]$', '[A-Z]', '\\w', '^\\W$',
    '\\bK', '[\u03b1-\u03c9]', 'FOO BAR', '^(FOO|B)', '\ufb01',
  ],
}

const filtersOf = (sources: readonly string[]): readonly Filter[] =>
  sources.flatMap((source) =>
    [false, true].flatMap((ignoreCase) => {
      const pattern = parsePattern(source, { ignoreCase })
      return FIELDS.flatMap((field) => withNegation({ kind: 'match', field, pattern }))
    }),
  )

function withNegation(filter: Filter): readonly Filter[] {
  return [filter, notOf(filter)]
}

const patternCase = (name: string, filters: () => readonly Filter[]): AdapterCase => ({
  name,
  run: (storage) =>
    withAdapter(storage, [planOf('texts', [false, fieldOf('s', 'string')])], async (adapter) => {
      await insertAll(adapter, 'texts', documents)
      for (const filter of filters()) await checkList(adapter, 'texts', documents, queryOf({ filter }))
    }),
})

/** Returns filters that match each edge value literally. */
const literals = (): readonly Filter[] =>
  scalars
    .filter((value) => typeof value === 'string')
    .map(
      (text): Filter => ({
        kind: 'match',
        field: FIELDS[0] ?? fieldOf('s', 'string'),
        pattern: { kind: 'text', text },
      }),
    )

const timestamps = (): readonly Filter[] =>
  ['', '^2026', '\\.000Z$', 'T08', 'z'].map((source) => ({
    kind: 'match',
    field: fieldOf('s', 'timestamp'),
    pattern: parsePattern(source, { ignoreCase: true }),
  }))

/** Cases for the strings that patterns match. */
export const patternCases: readonly AdapterCase[] = [
  ...Object.entries(PATTERNS).map(([theme, sources]) =>
    patternCase(`pattern: ${theme}`, () => filtersOf(sources)),
  ),
  patternCase('pattern: every edge value, literally', literals),
  patternCase('pattern: timestamps', timestamps),
]
