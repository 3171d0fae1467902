import { createHash, createHmac, generateKeyPairSync, randomBytes, sign } from 'node:crypto'

const sha256 = (bytes) => createHash('sha256').update(bytes).digest()

/** CBOR (RFC 8949) of what an attestation holds: whole numbers, texts, bytes and maps, all of them short. */
function encode(value) {
  const head = (type, size) => {
    if (size < 24) return Buffer.from([(type << 5) | size])
    return Buffer.from(size < 256 ? [(type << 5) | 24, size] : [(type << 5) | 25, size >> 8, size & 255])
  }
  if (typeof value === 'number') return value < 0 ? head(1, -1 - value) : head(0, value)
  if (typeof value === 'string') return Buffer.concat([head(3, value.length), Buffer.from(value)])
  if (Buffer.isBuffer(value)) return Buffer.concat([head(2, value.length), value])
  return Buffer.concat([head(5, value.size), ...[...value].flat().map(encode)])
}

/** An authenticator of WebAuthn (ES256, no attestation) and the browser around it, on the pages of an origin. */
export function createAuthenticator(origin) {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { x, y } = publicKey.export({ format: 'jwk' })
  const id = randomBytes(16)
  let uses = 0

  const clientData = (type, challenge) =>
    Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false }))
  const header = (flags) => {
    const counter = Buffer.alloc(4)
    counter.writeUInt32BE(++uses)
    return Buffer.concat([sha256(new URL(origin).hostname), Buffer.from([flags]), counter])
  }
  const credential = (response) => ({
    id: id.toString('base64url'),
    rawId: id.toString('base64url'),
    type: 'public-key',
    clientExtensionResults: {},
    response: Object.fromEntries(
      Object.entries(response).map(([name, bytes]) => [name, bytes.toString('base64url')]),
    ),
  })

  return {
    /** What `navigator.credentials.create` gives. */
    create({ challenge }) {
      const key = new Map([
        ...[
          [1, 2],
          [3, -7],
          [-1, 1],
        ],
        ...[
          [-2, Buffer.from(x, 'base64url')],
          [-3, Buffer.from(y, 'base64url')],
        ],
      ])
      // Present, verified, with a credential: no model, the length of the id, the id, the key.
      const authData = Buffer.concat([
        header(0x45),
        Buffer.alloc(16),
        Buffer.from([0, id.length]),
        id,
        encode(key),
      ])
      const attestationObject = encode(
        new Map([
          ['fmt', 'none'],
          ['attStmt', new Map()],
          ['authData', authData],
        ]),
      )
      return credential({ clientDataJSON: clientData('webauthn.create', challenge), attestationObject })
    },
    /** What `navigator.credentials.get` gives. */
    get({ challenge }) {
      const clientDataJSON = clientData('webauthn.get', challenge)
      const authenticatorData = header(0x05)
      const signed = Buffer.concat([authenticatorData, sha256(clientDataJSON)])
      return credential({ clientDataJSON, authenticatorData, signature: sign('sha256', signed, privateKey) })
    },
  }
}

/** The six digits of an authenticator app (RFC 6238) for the address that it scans. */
export function readCode(address) {
  const secret = new URL(address).searchParams.get('secret')
  const bits = [...secret]
    .map((letter) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(letter).toString(2).padStart(5, '0'))
    .join('')
  const key = Buffer.from(bits.match(/.{8}/g).map((byte) => Number.parseInt(byte, 2)))
  const step = Buffer.alloc(8)
  step.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000)))
  const mac = createHmac('sha1', key).update(step).digest()
  const number = mac.readUInt32BE(mac[19] & 15) & 0x7fffffff
  return String(number % 1_000_000).padStart(6, '0')
}
