/** The configuration that is used if the command line names none. */
export const DEFAULT_CONFIG = 'config.json'
