import fc from 'fast-check'

/** The same in every run, so that what fails once fails again; `npm run test:long` asks other questions each time. */
const seed = process.env.LONG === undefined ? 12 : Date.now() % 2 ** 31

if (process.env.LONG !== undefined) console.log(`fast-check begins with the seed ${seed}`)

fc.configureGlobal({ ...fc.readConfigureGlobal(), seed })

export default fc
