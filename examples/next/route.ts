// The service in an application of Next (App Router). This file goes to app/api/[[...path]]/route.ts, so that Next
// hands every request below /api to it, service.ts beside it, and config.json to app/api. To run it: npx next dev
import { service } from './service'

// One handler for all: it looks at the method itself, and ignores the context that Next passes behind the request.
// Methods that are not exported Next would answer for, with an empty 405; the service says what is allowed.
export {
  service as DELETE,
  service as GET,
  service as HEAD,
  service as OPTIONS,
  service as PATCH,
  service as POST,
  service as PUT,
}
