const UUID = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/
const IN_ANY_CASE = new RegExp(UUID, 'i')

/** Whether a text is a UUID in its stored form: in lower case. */
export const isUuid = (text: string): boolean => UUID.test(text)

/** A UUID in lower case; any other text as it is (CONTRACT.md §1, "Ids in upper case"). */
export const lowerUuid = (text: string): string => (IN_ANY_CASE.test(text) ? text.toLowerCase() : text)
