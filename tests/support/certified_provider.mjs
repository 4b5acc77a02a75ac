// An OpenID provider for tests: npm's oidc-provider, whose forms ask for a login and for consent.
// usage: node certified_provider.mjs MODULES PORT DASHBOARD PEOPLE   (PEOPLE: JSON, claims by login; any password will do)
import { createServer } from "node:http";
import { pathToFileURL } from "node:url";

const [modules, port, dashboard, people] = process.argv.slice(2);
const load = (file) => import(pathToFileURL(`${modules}/${file}`).href);
const { default: Provider } = await load("oidc-provider/lib/index.js");
const jose = await load("jose/dist/webapi/index.js");

const { privateKey } = await jose.generateKeyPair("RS256", { extractable: true });
const key = { ...(await jose.exportJWK(privateKey)), kid: "tests", alg: "RS256", use: "sig" };
const claims = JSON.parse(people);
const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [{
    client_id: "warpdeck",
    client_secret: "anything",
    redirect_uris: [`${dashboard}/oauth2callback`],
    post_logout_redirect_uris: [`${dashboard}/oauth2callback`],
  }],
  claims: { openid: ["sub"], profile: ["name", "realm"], email: ["email", "email_verified"] },
  conformIdTokenClaims: false, // claims stand in the ID token, as other providers have it
  cookies: { keys: ["tests"] },
  jwks: { keys: [key] },
  pkce: { required: () => true },
  findAccount: (_, id) => claims[id] && { accountId: id, claims: () => ({ sub: id, ...claims[id].told }) },
});

// What `wrong` of a person says takes the place of true claims, under the provider's own signature.
provider.use(async (ctx, next) => {
  await next();
  const token = ctx.body?.id_token;
  const wrong = token && claims[jose.decodeJwt(token).sub].wrong;
  if (wrong) {
    const payload = { ...jose.decodeJwt(token), ...wrong };
    ctx.body.id_token = await new jose.SignJWT(payload).setProtectedHeader({ alg: "RS256", kid: "tests" }).sign(privateKey);
  }
});
createServer(provider.callback()).listen(Number(port), "127.0.0.1");
