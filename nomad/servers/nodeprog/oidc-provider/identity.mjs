// An identity provider for tests. Its users sign in with a name and any password; what it says of
// them is in IDENTITY_USERS, by name. IDENTITY_CALLBACKS are the addresses to which it sends
// browsers back, and IDENTITY_LOGOUT is the address for sign-outs that begin here. PUT
// /of-the-tests/users replaces the users, of whom it knows one with the claim disabled no more; PUT
// /of-the-tests/away with true makes it answer 503. IDENTITY_ACCESS is how many seconds an access token is
// valid. A refresh token is valid once. It prints its issuer when it is ready.
import { createServer } from 'node:http';
import { Provider } from 'oidc-provider';

const port = Number(process.env.IDENTITY_PORT);
const issuer = `http://127.0.0.1:${port}`;
let users = JSON.parse(process.env.IDENTITY_USERS ?? '{}');
const callbacks = JSON.parse(process.env.IDENTITY_CALLBACKS ?? '[]');

let away = false;

const logout = process.env.IDENTITY_LOGOUT;

const provider = new Provider(issuer, {
  clients: [{
    client_id: 'detent', client_secret: 'the secret of the tests', redirect_uris: callbacks,
    grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'], response_types: ['code'],
    ...(logout && { backchannel_logout_uri: logout, backchannel_logout_session_required: true }),
  }],
  claims: { openid: ['sub'], profile: ['name', 'preferred_username'], email: ['email', 'email_verified'], groups: ['groups'] },
  scopes: ['openid', 'offline_access', 'profile', 'email', 'groups'],
  pkce: { required: () => true },
  features: { devInteractions: { enabled: true }, deviceFlow: { enabled: true }, backchannelLogout: { enabled: true } },
  rotateRefreshToken: true,
  ttl: { AccessToken: Number(process.env.IDENTITY_ACCESS ?? 3600) },
  findAccount: (_, id) => (users[id]?.disabled ? undefined : { accountId: id, claims: () => ({ sub: id, ...users[id] }) }),
  // Its own check of addresses would reject the master of a test, which is on this machine.
  fetch: (url, options) => globalThis.fetch(url, { ...options, dispatcher: undefined }),
  cookies: { keys: ['of the tests alone'] },
});

provider.on('backchannel.error', (_, err) => console.log(`sign-out: ${err.message}`));

const serve = provider.callback();

createServer(async (req, res) => {
  const test = req.method === 'PUT' && /^\/of-the-tests\/(users|away)$/.exec(req.url)?.[1];
  if (!test && away) {
    res.statusCode = 503;
    return res.end();
  }
  if (!test) return serve(req, res);
  let body = '';
  for await (const part of req) body += part;
  if (test === 'users') users = JSON.parse(body);
  else away = JSON.parse(body);
  return res.end();
}).listen(port, '127.0.0.1', () => console.log(issuer));
