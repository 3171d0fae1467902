import fc from 'fast-check'
import { seedOf } from './tier.js'

fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: seedOf(12) })

export default fc
