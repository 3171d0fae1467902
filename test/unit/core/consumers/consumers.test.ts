import { afterEach, describe, test, vi } from 'vitest'
import { createConsumers } from '../../../../src/core/consumers/create-consumers.js'
import { LEASE_LAWS } from '../../../support/consumers/lease-laws.js'
import { ORDER_LAWS } from '../../../support/consumers/order-laws.js'
import { worldsOf } from '../../../support/consumers/world.js'

// CONTRACT.md §9, "Consumers"

afterEach(() => void vi.useRealTimers())

describe('a consumer', () => {
  test.each(ORDER_LAWS)('%s', (_, check) => check(worldsOf(createConsumers)))
})

describe('its lease:', () => {
  test.each(LEASE_LAWS)('%s', (_, check) => check(worldsOf(createConsumers)))
})
