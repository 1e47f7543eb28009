// An identity provider for tests. Its users sign in with a name and any password; what it says of
// them is in IDENTITY_USERS, by name. IDENTITY_CALLBACKS are the addresses to which it sends
// browsers back. It prints its issuer when it is ready.
import { createServer } from 'node:http';
import { Provider } from 'oidc-provider';

const port = Number(process.env.IDENTITY_PORT);
const issuer = `http://127.0.0.1:${port}`;
const users = JSON.parse(process.env.IDENTITY_USERS ?? '{}');
const callbacks = JSON.parse(process.env.IDENTITY_CALLBACKS ?? '[]');

const provider = new Provider(issuer, {
  clients: [{
    client_id: 'detent', client_secret: 'the secret of the tests', redirect_uris: callbacks,
    grant_types: ['authorization_code', 'urn:ietf:params:oauth:grant-type:device_code'], response_types: ['code'],
  }],
  claims: { openid: ['sub'], profile: ['name', 'preferred_username'], email: ['email', 'email_verified'], groups: ['groups'] },
  scopes: ['openid', 'profile', 'email', 'groups'],
  pkce: { required: () => true },
  features: { devInteractions: { enabled: true }, deviceFlow: { enabled: true } },
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, ...users[id] }) }),
  cookies: { keys: ['of the tests alone'] },
});

createServer(provider.callback()).listen(port, '127.0.0.1', () => console.log(issuer));
